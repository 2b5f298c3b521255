/* The engine for programs in C, and for all languages that can call C: language models that read and write
 * text, and classifiers, from the files of `mega train` and `mega quantize`.
 *
 *   mega_model* model;
 *   mega_session* session;
 *   mega_error error;
 *   if (mega_model_open("model.safetensors", &model, &error) != MEGA_OK) puts(error.message);
 *   ...
 *   mega_session_new(model, 0, MEGA_CACHE_F32, &session, &error);
 *   mega_session_feed(session, tokens, count, &error);
 *   mega_session_logits(session, &logits, &vocabulary, &error);
 *
 * examples/c_engine/main.c is a whole program.
 *
 * Rules that hold everywhere, unless a function says otherwise:
 *
 * Errors. A function that can fail returns a status, and MEGA_OK alone is success. It then has changed
 *   nothing and made nothing: handles it should have given are NULL. `error` may be NULL; else it receives
 *   what went wrong, in a sentence of English, or "" after success. After MEGA_ERROR_MEMORY or
 *   MEGA_ERROR_INTERNAL, sessions that were being fed can only be freed.
 * Pointers. None may be NULL but `error`, and an array of which nothing is read or written. Arrays and texts
 *   that are passed in are not kept.
 * Texts are UTF-8. Paths end with a 0, as C has them; other texts have a length in bytes and may hold zeros.
 * Threads. Models and classifiers never change: any number of threads may use one. A session may be used
 *   on any thread, but on one at a time; sessions of one model may be used at the same time. A handle must
 *   not be in use elsewhere when it is closed or freed.
 *
 * ABI. The library's soname has the number MEGA_ABI_VERSION. As long as that stays, functions may be added,
 * and what is here keeps its meaning, its types and its numbers; the handles' insides are nobody's business.
 * Programs built for one library run with all later ones of the same number. The libraries it is made of are
 * hidden inside it, and no C++ exception leaves it. */
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
#define MEGA_ERROR_REQUEST 1  /* what was asked for cannot be: a bad file, a wrong argument */
#define MEGA_ERROR_ROOM 2     /* an array of the caller's is too short; the needed length has been given */
#define MEGA_ERROR_MEMORY 3   /* there is not enough memory */
#define MEGA_ERROR_INTERNAL 4 /* a fault of this library */

/* Longer messages are cut. */
#define MEGA_ERROR_MESSAGE_SIZE 1024
typedef struct mega_error {
  char message[MEGA_ERROR_MESSAGE_SIZE]; /* ends with a 0 */
} mega_error;

/* How a session keeps keys and values of the open chunk. BF16 takes half of the memory, and costs three
 * digits of them. */
typedef int32_t mega_cache;
#define MEGA_CACHE_F32 0
#define MEGA_CACHE_BF16 1

/* </s>, the end of a line: a newline is this token in every vocabulary. */
#define MEGA_TOKEN_END 2

typedef struct mega_model mega_model;           /* a language model */
typedef struct mega_session mega_session;       /* a text that a language model reads */
typedef struct mega_classifier mega_classifier; /* a classifier of sequences, or matcher of two texts */

/* The library's version, such as "0.1.0"; valid for ever. Any thread. */
MEGA_API const char* mega_version(void);

/* MEGA_ABI_VERSION of the library that is running. Any thread. */
MEGA_API int32_t mega_abi_version(void);

/* ---- Language models ---- */

/* Maps the file: it must stay as it is until the model is closed and its sessions are freed. */
MEGA_API mega_status mega_model_open(const char* path, mega_model** model, mega_error* error);

/* NULL is nothing to close. Sessions go on to work; what they need of the model stays. */
MEGA_API void mega_model_close(mega_model* model);

/* How many tokens there are: they are 0 to this - 1. */
MEGA_API int64_t mega_model_vocabulary(const mega_model* model);

/* The tokens of a text of `bytes` bytes. `count` receives how many there are, also where that is more than
 * `room`: then nothing is written to `tokens`, and the status is MEGA_ERROR_ROOM. */
MEGA_API mega_status mega_model_tokenize(const mega_model* model, const char* text, size_t bytes,
                                         int32_t* tokens, size_t room, size_t* count, mega_error* error);

/* The text of `count` tokens, without a 0 at its end. `begins_line`: not 0 where the first of them is the
 * first of its line, so that no blank goes before a word. `bytes` receives how many bytes there are, also
 * where that is more than `room`: then nothing is written to `text`, and the status is MEGA_ERROR_ROOM. The
 * text of a few tokens may begin or end within a character. */
MEGA_API mega_status mega_model_detokenize(const mega_model* model, const int32_t* tokens, size_t count,
                                           int32_t begins_line, char* text, size_t room, size_t* bytes,
                                           mega_error* error);

/* ---- Sessions ---- */

/* A session that has read nothing. `threads`: so many work on it, the caller's among them; 0: one for each
 * core. They wait busily for a moment after work: sessions that share them (mega_session_fork) are better
 * than many with threads of their own. */
MEGA_API mega_status mega_session_new(const mega_model* model, int32_t threads, mega_cache cache,
                                      mega_session** session, mega_error* error);

/* A copy, which goes its own way from the same place, with the same threads. `session` is not changed, but
 * counts as used. */
MEGA_API mega_status mega_session_fork(const mega_session* session, mega_session** fork, mega_error* error);

/* NULL is nothing to free. */
MEGA_API void mega_session_free(mega_session* session);

/* Reads `count` tokens. A text begins with MEGA_TOKEN_END, as if a line had ended before it. In how many
 * calls a text is read does not matter, up to rounding. */
MEGA_API mega_status mega_session_feed(mega_session* session, const int32_t* tokens, size_t count,
                                       mega_error* error);

/* The same for many sessions of one model at once, counts[i] tokens[i] to sessions[i], on the threads of the
 * first one: faster than one after the other, as weights are read once for all. No session twice. */
MEGA_API mega_status mega_sessions_feed(mega_session* const* sessions, const int32_t* const* tokens,
                                        const size_t* counts, size_t session_count, mega_error* error);

/* What the model expects next: a logarithm of the probability of each token, up to a constant they have in
 * common. `count` receives their number, the vocabulary's. Valid until the session is fed or freed. An
 * error before the first token is read. */
MEGA_API mega_status mega_session_logits(mega_session* session, const float** logits, size_t* count,
                                         mega_error* error);

/* Tokens read so far. */
MEGA_API int64_t mega_session_position(const mega_session* session);

/* Bytes of memory of its state. Forks share some of them. */
MEGA_API int64_t mega_session_bytes(const mega_session* session);

/* One file, written whole or not at all; one of that name is replaced. */
MEGA_API mega_status mega_session_save(const mega_session* session, const char* path, mega_error* error);

/* A session that goes on where the saved one was, bit for bit. An error where the file is damaged, or of
 * another model or version. `threads` as above. */
MEGA_API mega_status mega_session_load(const mega_model* model, const char* path, int32_t threads,
                                       mega_session** session, mega_error* error);

/* ---- Classifiers ---- */

/* Maps the file: it must stay as it is until the classifier is closed. `threads`: as many work on a
 * sequence; 0: one for each core. Calls on several threads at once are right, but share these. */
MEGA_API mega_status mega_classifier_open(const char* path, int32_t threads, mega_classifier** classifier,
                                          mega_error* error);

/* NULL is nothing to close. */
MEGA_API void mega_classifier_close(mega_classifier* classifier);

/* How many numbers it gives: one for each class, or those that it predicts. */
MEGA_API int64_t mega_classifier_outputs(const mega_classifier* classifier);

/* How many documents it reads at once: 1, or 2 of a matcher. */
MEGA_API int64_t mega_classifier_documents(const mega_classifier* classifier);

/* The name of class `index`, from 0, ending with a 0; valid until the classifier is closed. NULL where there
 * is no such class, or the model predicts numbers. */
MEGA_API const char* mega_classifier_class(const mega_classifier* classifier, int64_t index);

/* What it says of a text, of two texts (a matcher), or of an image as its grey values, a byte each and row by
 * row: bytes[i] bytes at documents[i], encoded as in training. `outputs` has room for `output_count` floats,
 * mega_classifier_outputs or more; it receives logits of the classes (a softmax makes them probabilities), or
 * the predicted numbers in the units of the training data. */
MEGA_API mega_status mega_classify_bytes(const mega_classifier* classifier, const char* const* documents,
                                         const size_t* bytes, size_t document_count, float* outputs,
                                         size_t output_count, mega_error* error);

/* The same of sound or of a series: `count` samples at the rate of the training data, from -1 to 1, or
 * numbers in its units, position by position with the channels of each together. */
MEGA_API mega_status mega_classify_values(const mega_classifier* classifier, const float* values,
                                          size_t count, float* outputs, size_t output_count,
                                          mega_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MEGA_MEGA_H_ */
