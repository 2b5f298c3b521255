/* Writes on from a text, always with the likeliest token.
 *
 *   cc -std=c99 main.c -o c_engine $(pkg-config --cflags --libs mega_engine)
 *   ./c_engine runs/bytes-small "Once upon a time" 200 */
/* [snippet] */
#include <mega/mega.h>
/* [end] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_on(const char* path, const char* prompt, int64_t tokens) {
  /* [snippet] */
  mega_model* model = NULL;
  mega_session* session = NULL;
  mega_generation* generation = NULL;
  mega_sampling sampling = MEGA_SAMPLING_DEFAULT;
  mega_error error;
  const char* text = NULL;
  size_t bytes = 0;
  int ok;

  sampling.temperature = 0; /* always the likeliest token; or top_k, top_p, seed, ... */
  ok = mega_model_open(path, &model, &error) == MEGA_OK && /* a model file, or a run directory */
       mega_session_new(model, 0, MEGA_CACHE_F32, &session, &error) == MEGA_OK &&
       mega_generation_new(session, prompt, strlen(prompt), &sampling, tokens, NULL, 0, &generation,
                           &error) == MEGA_OK;
  while (ok && (ok = mega_generation_next(generation, &text, &bytes, &error) == MEGA_OK) && bytes > 0) {
    fwrite(text, 1, bytes, stdout); /* whole characters */
    fflush(stdout);
  }
  if (!ok) fprintf(stderr, "%s\n", error.message);
  mega_generation_free(generation);
  mega_session_free(session);
  mega_model_close(model);
  /* [end] */
  return ok;
}

int main(int argc, char** argv) {
  int ok;
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: c_engine MODEL PROMPT [TOKENS]\n");
    return 2;
  }
  fputs(argv[2], stdout);
  ok = write_on(argv[1], argv[2], argc > 3 ? strtol(argv[3], NULL, 10) : 100);
  putchar('\n');
  return ok ? 0 : 1;
}
