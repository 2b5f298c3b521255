/* C interface of the engine: runs language models, classifiers and translators from the files of `mega train`
 * and `mega quantize`. For C and any language that can call C.
 *
 *   if (mega_model_open("runs/bytes-small", &model, &error) != MEGA_OK) puts(error.message);
 *   ...
 *   mega_session_new(model, 0, MEGA_CACHE_F32, &session, &error);
 *   mega_generation_new(session, "Once", 4, NULL, 200, NULL, 0, &generation, &error);
 *   while (mega_generation_next(generation, &text, &bytes, &error) == MEGA_OK && bytes > 0)
 *     fwrite(text, 1, bytes, stdout);
 *
 * examples/c_engine/main.c is a complete program.
 *
 * Rules for all functions, unless documented otherwise:
 *
 * Errors. A function that can fail returns a status; only MEGA_OK is success. On failure it has changed
 *   nothing and created nothing: output handles are NULL. `error` may be NULL; otherwise it receives the
 *   error message in English, or "" on success. After MEGA_ERROR_MEMORY or MEGA_ERROR_INTERNAL, sessions that
 *   were being fed can only be freed.
 * Pointers. Only `error` and empty arrays may be NULL; where NULL is not allowed, it is an error, and
 * functions that return a number return 0 for it. The library does not keep pointers to arrays and strings
 * passed in. Strings are UTF-8. Paths are null-terminated; other strings have a length in bytes and may
 * contain null bytes. The path of a model is that of its file, or of the run directory of `mega train` that
 * has it. Threads. Models, classifiers and translators are immutable and thread-safe. A session, with the
 * generations that extend it, or a sampler may be used from any thread, but only from one at a time;
 * different sessions of one model may be used concurrently. A handle must not be in use when it is closed or
 * freed.
 *
 * ABI. MEGA_ABI_VERSION is the version in the library's soname. While it stays the same, functions may be
 * added, but existing ones keep their meaning, types and constants; handles are opaque. Programs built
 * against one library run with all later ones of the same ABI version. The libraries it contains are hidden,
 * and no C++ exception leaves it. */
#ifndef MEGA_MEGA_H_
#define MEGA_MEGA_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MEGA_API __attribute__((visibility("default")))
#else
#define MEGA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MEGA_ABI_VERSION 1

typedef int32_t mega_status;
#define MEGA_OK 0
#define MEGA_ERROR_REQUEST 1  /* invalid request: a bad file or argument */
#define MEGA_ERROR_ROOM 2     /* the caller's array is too short; the required length was returned */
#define MEGA_ERROR_MEMORY 3   /* out of memory */
#define MEGA_ERROR_INTERNAL 4 /* a bug in this library */

/* Longer messages are truncated. */
#define MEGA_ERROR_MESSAGE_SIZE 1024
typedef struct mega_error {
  char message[MEGA_ERROR_MESSAGE_SIZE]; /* null-terminated */
} mega_error;

/* Type of a session's cached keys and values of the open chunk. BF16 halves the memory, at a precision of
 * three digits. */
typedef int32_t mega_cache;
#define MEGA_CACHE_F32 0
#define MEGA_CACHE_BF16 1

/* </s>, end of line: the token of a newline in every vocabulary. */
#define MEGA_TOKEN_END 2

/* What a model reads. */
typedef int32_t mega_input;
#define MEGA_INPUT_UNKNOWN 0     /* the file was not written by `mega train` */
#define MEGA_INPUT_TEXT 1        /* one text, or two */
#define MEGA_INPUT_IMAGE 2       /* a picture */
#define MEGA_INPUT_AUDIO 3       /* samples from -1 to 1 */
#define MEGA_INPUT_SERIES 4      /* numbers, some at each position */
#define MEGA_INPUT_LANGUAGE 5    /* running text: a language model */
#define MEGA_INPUT_TRANSLATION 6 /* lines of one language, for lines of another: a translator */

/* How the next token is drawn from the model's distribution, applied in this order. Set all fields: begin
 * with MEGA_SAMPLING_DEFAULT, the model's own distribution. */
typedef struct mega_sampling {
  double repetition_penalty; /* 1 to 100: makes recent tokens less likely; 1: off */
  int64_t repetition_window; /* number of recent tokens for that */
  double temperature;        /* 0 to 100: below 1 sharpens the distribution; 0: always the likeliest token */
  int64_t top_k;             /* only so many of the likeliest tokens; 0: off */
  double top_p;              /* only the fewest tokens with this total probability; 1: off */
  double min_p;              /* no tokens below this share of the highest probability; 0: off */
  int64_t seed;              /* the same seed, the same draws; from 0 */
} mega_sampling;
#define MEGA_SAMPLING_DEFAULT \
  { 1.0, 64, 1.0, 0, 1.0, 0.0, 1 }

/* How translations are searched for. Set all fields: begin with MEGA_SEARCH_DEFAULT. */
typedef struct mega_search {
  int64_t beam;  /* 1 to 4096: hypotheses per sentence; 1: greedy */
  int64_t nbest; /* 1 to beam: translations per line */
  double
      length_penalty; /* -10 to 10: scores are divided by length^this; 0: off, larger: longer translations */
  int64_t max_length; /* most tokens of a translation; 0: depends on the source */
  int64_t batch;      /* 1 to 65536: sentences side by side */
  int32_t split;      /* nonzero: translate the sentences of a line one by one */
} mega_search;
#define MEGA_SEARCH_DEFAULT \
  { 5, 1, 0.5, 0, 32, 0 }

/* Receives a translation of line `line`, the `rank`-th best, both from 0: `bytes` bytes of valid UTF-8
 * without line breaks at `text`, not null-terminated and valid until it returns, and the score, a
 * log-probability divided by the length penalty. Returns 0 to go on, anything else to stop. Must not throw.
 */
typedef int32_t (*mega_translated)(void* context, size_t line, size_t rank, const char* text, size_t bytes,
                                   double score);

typedef struct mega_model mega_model;           /* a language model */
typedef struct mega_session mega_session;       /* the state of a language model in a text */
typedef struct mega_sampler mega_sampler;       /* draws tokens */
typedef struct mega_generation mega_generation; /* a text that is being generated */
typedef struct mega_classifier
    mega_classifier; /* a classifier of sequences or images, or matcher of text pairs */
typedef struct mega_translator mega_translator; /* a translator of lines */

/* The library version, such as "0.1.0"; always valid. Thread-safe. */
MEGA_API const char* mega_version(void);

/* MEGA_ABI_VERSION of the loaded library. Thread-safe. */
MEGA_API int32_t mega_abi_version(void);

/* What the model at `path` reads, whatever it is: MEGA_INPUT_LANGUAGE is for mega_model_open,
 * MEGA_INPUT_TRANSLATION for mega_translator_open, others are for mega_classifier_open. */
MEGA_API mega_status mega_input_of(const char* path, mega_input* input, mega_error* error);

/* ---- Language models ---- */

/* Maps the file: it must not change until the model is closed and its sessions are freed. */
MEGA_API mega_status mega_model_open(const char* path, mega_model** model, mega_error* error);

/* NULL is allowed. Existing sessions remain usable: they keep what they need of the model. */
MEGA_API void mega_model_close(mega_model* model);

/* Size of the vocabulary: tokens are 0 to this - 1. */
MEGA_API int64_t mega_model_vocabulary(const mega_model* model);

/* The tokens of a text of `bytes` bytes. `count` receives their number. If that is more than `capacity`, the
 * size of `tokens`, nothing is written and the status is MEGA_ERROR_ROOM. */
MEGA_API mega_status mega_model_tokenize(const mega_model* model, const char* text, size_t bytes,
                                         int32_t* tokens, size_t capacity, size_t* count, mega_error* error);

/* The text of `count` tokens, not null-terminated. `begins_line`: nonzero if the first token starts a line,
 * so that no space precedes a word. `bytes` receives the length. If that is more than `capacity`, the size of
 * `text`, nothing is written and the status is MEGA_ERROR_ROOM. The text of a few tokens may begin or end
 * within a character. */
MEGA_API mega_status mega_model_detokenize(const mega_model* model, const int32_t* tokens, size_t count,
                                           int32_t begins_line, char* text, size_t capacity, size_t* bytes,
                                           mega_error* error);

/* ---- Sessions ---- */

/* A new session. `threads`: number of threads including the caller's; 0: one per core. Threads spin briefly
 * after work, so sessions that share them (mega_session_fork) are better than many with their own threads. */
MEGA_API mega_status mega_session_new(const mega_model* model, int32_t threads, mega_cache cache,
                                      mega_session** session, mega_error* error);

/* An independent copy at the same position, sharing the threads. `session` is not changed, but must not be
 * used by another thread meanwhile. */
MEGA_API mega_status mega_session_fork(const mega_session* session, mega_session** fork, mega_error* error);

/* NULL is allowed. */
MEGA_API void mega_session_free(mega_session* session);

/* Reads `count` tokens. A text begins with MEGA_TOKEN_END, as if a line had ended before it. Splitting a text
 * into several calls gives the same result up to rounding. */
MEGA_API mega_status mega_session_feed(mega_session* session, const int32_t* tokens, size_t count,
                                       mega_error* error);

/* Feeds many sessions of one model in one batch, counts[i] tokens at tokens[i] to sessions[i], on the threads
 * of the first one: faster than one by one, because weights are read once for all. Sessions must be distinct.
 */
MEGA_API mega_status mega_sessions_feed(mega_session* const* sessions, const int32_t* const* tokens,
                                        const size_t* counts, size_t session_count, mega_error* error);

/* Logits of the next token: log-probabilities up to a common constant. `count` receives their number, the
 * vocabulary size. Valid until the session is fed or freed. An error before the first token is read. */
MEGA_API mega_status mega_session_logits(mega_session* session, const float** logits, size_t* count,
                                         mega_error* error);

/* Number of tokens read so far. */
MEGA_API int64_t mega_session_position(const mega_session* session);

/* Size of the state in bytes. Forks share part of it. */
MEGA_API int64_t mega_session_bytes(const mega_session* session);

/* Writes one file atomically, replacing an existing one. */
MEGA_API mega_status mega_session_save(const mega_session* session, const char* path, mega_error* error);

/* A session that continues from the saved one, bit for bit. An error if the file is damaged, or of another
 * model or version. `threads` as above. */
MEGA_API mega_status mega_session_load(const mega_model* model, const char* path, int32_t threads,
                                       mega_session** session, mega_error* error);

/* ---- Generation ---- */

/* Begins to continue a text: `session` reads the prompt, after MEGA_TOKEN_END if it has read nothing yet, and
 * will read every token that is generated, so another generation can go on from there. `sampling` may be NULL
 * for the default. Ends after `max_tokens` tokens, or before one of the `stop_count` null-terminated stop
 * strings. The generation keeps what it needs of the session, which may be freed before it. */
MEGA_API mega_status mega_generation_new(mega_session* session, const char* prompt, size_t prompt_bytes,
                                         const mega_sampling* sampling, int64_t max_tokens,
                                         const char* const* stop, size_t stop_count,
                                         mega_generation** generation, mega_error* error);

/* The next piece of the text: `bytes` bytes at `text`, not null-terminated, valid until the next call with
 * this generation. Always whole characters of valid UTF-8: bytes that are not, which a model of bytes may
 * write, become U+FFFD. 0 bytes at the end. After an error there is no more text. */
MEGA_API mega_status mega_generation_next(mega_generation* generation, const char** text, size_t* bytes,
                                          mega_error* error);

/* Number of tokens generated so far. */
MEGA_API int64_t mega_generation_tokens(const mega_generation* generation);

/* NULL is allowed. */
MEGA_API void mega_generation_free(mega_generation* generation);

/* The same sampling for programs that feed sessions themselves, many at once for example. `sampling` may be
 * NULL for the default. */
MEGA_API mega_status mega_sampler_new(const mega_sampling* sampling, mega_sampler** sampler,
                                      mega_error* error);

/* Draws a token from `count` logits, -INFINITY for impossible ones. `history` are the previous tokens, for
 * the repetition penalty. An error if a logit is NaN or +INFINITY. */
MEGA_API mega_status mega_sampler_draw(mega_sampler* sampler, const float* logits, size_t count,
                                       const int32_t* history, size_t history_count, int32_t* token,
                                       mega_error* error);

/* NULL is allowed. */
MEGA_API void mega_sampler_free(mega_sampler* sampler);

/* ---- Classifiers ---- */

/* Maps the file: it must not change until the classifier is closed. `threads`: number of threads per
 * sequence; 0: one per core. Concurrent calls are safe, but share these threads. */
MEGA_API mega_status mega_classifier_open(const char* path, int32_t threads, mega_classifier** classifier,
                                          mega_error* error);

/* NULL is allowed. */
MEGA_API void mega_classifier_close(mega_classifier* classifier);

/* Number of outputs: one per class, or the number of regression targets. */
MEGA_API int64_t mega_classifier_outputs(const mega_classifier* classifier);

/* Number of documents per input: 1, or 2 for a matcher. */
MEGA_API int64_t mega_classifier_documents(const mega_classifier* classifier);

/* The null-terminated name of class `index`, from 0; valid until the classifier is closed. NULL if there is
 * no such class, or the model predicts numbers. */
MEGA_API const char* mega_classifier_class(const mega_classifier* classifier, int64_t index);

/* What it reads: text by mega_classify_bytes, images by mega_classify_picture_file and mega_classify_pixels,
 * audio and series by mega_classify_values. */
MEGA_API mega_input mega_classifier_input(const mega_classifier* classifier);

/* Samples per second of the audio it reads; 0 if it reads something else. */
MEGA_API int64_t mega_classifier_rate(const mega_classifier* classifier);

/* Numbers at each position: 1 for audio, the channels of a series; 0 if it reads text or images. */
MEGA_API int64_t mega_classifier_channels(const mega_classifier* classifier);

/* Size of the images it reads, in pixels; 0 if it reads something else. Pictures of other sizes are scaled
 * and cropped as in training. */
MEGA_API int64_t mega_classifier_height(const mega_classifier* classifier);
MEGA_API int64_t mega_classifier_width(const mega_classifier* classifier);

/* Channels of the images it reads: 1 for shades of grey, 3 for red, green and blue; 0 if it reads something
 * else. Pictures with others are converted. */
MEGA_API int64_t mega_classifier_image_channels(const mega_classifier* classifier);

/* Nonzero if the model can classify unbounded input (`mega predict --stream`). */
MEGA_API int32_t mega_classifier_can_stream(const mega_classifier* classifier);

/* Classifies a text, two texts (a matcher), or an image of the model's size given as grey values, one byte
 * each, row by row: bytes[i] bytes at documents[i], encoded as in training. `outputs` has space for
 * `output_count` floats, at least mega_classifier_outputs; it receives logits of the classes (apply softmax
 * for probabilities), or the predicted numbers in the units of the training data. An error for a model of
 * audio or series, and if an output is not finite. */
MEGA_API mega_status mega_classify_bytes(const mega_classifier* classifier, const char* const* documents,
                                         const size_t* bytes, size_t document_count, float* outputs,
                                         size_t output_count, mega_error* error);

/* The same for audio or a series: `count` samples from -1 to 1 at the sample rate of the training data, or
 * numbers in its units, with the channels of a position contiguous. An error for a model of text or images.
 */
MEGA_API mega_status mega_classify_values(const mega_classifier* classifier, const float* values,
                                          size_t count, float* outputs, size_t output_count,
                                          mega_error* error);

/* The same for a picture file: JPEG, PNG, WebP, PGM or PPM, known by its content, of any size and colours,
 * the way up that its EXIF data says. An error for a model of anything but images, and for a file that is
 * damaged or too large. */
MEGA_API mega_status mega_classify_picture_file(const mega_classifier* classifier, const char* path,
                                                float* outputs, size_t output_count, mega_error* error);

/* The same for a picture in memory, of any size: height x width x channels bytes, row by row from the top,
 * the channels of a pixel together. Channels: 1 (grey), 2 (grey, alpha), 3 (red, green, blue) or 4 (red,
 * green, blue, alpha); what is transparent lies on white. */
MEGA_API mega_status mega_classify_pixels(const mega_classifier* classifier, const uint8_t* pixels,
                                          int64_t height, int64_t width, int64_t channels, float* outputs,
                                          size_t output_count, mega_error* error);

/* ---- Translators ---- */

/* Maps the file: it must not change until the translator is closed. `threads`: number of threads per call;
 * 0: one per core. Concurrent calls are safe, but share these threads. */
MEGA_API mega_status mega_translator_open(const char* path, int32_t threads, mega_translator** translator,
                                          mega_error* error);

/* NULL is allowed. */
MEGA_API void mega_translator_close(mega_translator* translator);

/* Translates `line_count` lines, bytes[i] bytes at lines[i], in batches of similar length. `translated` gets
 * `context` and the translations, in the order of the lines and the best first; at least one for each line,
 * an empty one for an empty line. What is longer than the model reads at once is translated in parts.
 * `search` may be NULL for the default. */
MEGA_API mega_status mega_translate(const mega_translator* translator, const char* const* lines,
                                    const size_t* bytes, size_t line_count, const mega_search* search,
                                    mega_translated translated, void* context, mega_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MEGA_MEGA_H_ */
