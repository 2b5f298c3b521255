/* Writes on from a text, always with the likeliest token.
 *
 *   cc -std=c99 main.c -o c_engine $(pkg-config --cflags --libs mega_engine)
 *   ./c_engine model.safetensors "Once upon a time" 200 */
#include <mega/mega.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char* what, const mega_error* error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 0;
}

/* Feeds </s>, before which every text begins, and the prompt. */
static int read_prompt(const mega_model* model, mega_session* session, const char* prompt) {
  const int32_t end = MEGA_TOKEN_END;
  mega_error error;
  size_t count = 0;
  int32_t* tokens;
  int ok;

  /* The first call only asks how many tokens there are. */
  if (mega_model_tokenize(model, prompt, strlen(prompt), NULL, 0, &count, &error) == MEGA_ERROR_REQUEST)
    return failed("prompt", &error);
  tokens = malloc((count + 1) * sizeof *tokens);
  if (tokens == NULL) return 0;
  ok = mega_model_tokenize(model, prompt, strlen(prompt), tokens, count, &count, &error) == MEGA_OK &&
       mega_session_feed(session, &end, 1, &error) == MEGA_OK &&
       mega_session_feed(session, tokens, count, &error) == MEGA_OK;
  free(tokens);
  return ok || failed("prompt", &error);
}

/* Prints the likeliest token and feeds it, `count` times. */
static int write_text(const mega_model* model, mega_session* session, long count, int begins_line) {
  mega_error error;
  long i;
  for (i = 0; i < count; ++i) {
    const float* logits = NULL;
    size_t vocabulary = 0, token, best = 0, bytes = 0;
    int32_t next;
    char text[256];
    if (mega_session_logits(session, &logits, &vocabulary, &error) != MEGA_OK)
      return failed("logits", &error);
    for (token = 1; token < vocabulary; ++token)
      if (logits[token] > logits[best]) best = token;
    next = (int32_t)best;
    /* The model may have more numbers than the vocabulary has tokens: such a one has no text. */
    if (mega_model_detokenize(model, &next, 1, begins_line, text, sizeof text, &bytes, &error) == MEGA_OK) {
      fwrite(text, 1, bytes, stdout);
      fflush(stdout);
      if (bytes > 0) begins_line = text[bytes - 1] == '\n';
    }
    if (mega_session_feed(session, &next, 1, &error) != MEGA_OK) return failed("feed", &error);
  }
  putchar('\n');
  return 1;
}

int main(int argc, char** argv) {
  mega_model* model = NULL;
  mega_session* session = NULL;
  mega_error error;
  int ok;
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: c_engine MODEL PROMPT [TOKENS]\n");
    return 2;
  }
  if (mega_model_open(argv[1], &model, &error) != MEGA_OK) {
    failed("model", &error);
    return 1;
  }
  if (mega_session_new(model, 0, MEGA_CACHE_F32, &session, &error) != MEGA_OK) {
    failed("session", &error);
    mega_model_close(model);
    return 1;
  }
  fputs(argv[2], stdout);
  ok = read_prompt(model, session, argv[2]) &&
       write_text(model, session, argc > 3 ? strtol(argv[3], NULL, 10) : 100, argv[2][0] == '\0');
  mega_session_free(session);
  mega_model_close(model);
  return ok ? 0 : 1;
}
