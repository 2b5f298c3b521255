#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/utf8.h"
#include "mega/base/version.h"
#include "mega/config/files/model_path.h"
#include "mega/data/encoder.h"
#include "mega/data/formats/picture.h"
#include "mega/data/readers/readers.h"
#include "mega/infer/generation/sampler.h"
#include "mega/infer/generation/text_generator.h"
#include "mega/infer/models/answer.h"
#include "mega/infer/models/classifier.h"
#include "mega/infer/models/classifier_stream.h"
#include "mega/infer/models/open_model.h"
#include "mega/infer/models/translator.h"
#include "mega/infer/models/translator_decoder.h"
#include "mega/infer/session.h"
#include "mega/infer/thread_pool.h"
#include "mega/infer/translation/text_translator.h"
#include "mega/infer/workspace.h"
#include "mega/mega.h"
#include "mega/text/tokens.h"

struct mega_model {
  std::shared_ptr<const mega::infer::LanguageModel> model;
};

struct mega_session {
  std::shared_ptr<mega::infer::Session> session;  // shared with the generations that extend it
};

struct mega_sampler {
  mega::infer::Sampler sampler;
};

struct mega_generation {
  std::shared_ptr<mega::infer::Session> session;  // has the tokenizer
  mega::infer::TextGenerator text;
  std::string piece;
};

struct mega_classifier {
  std::shared_ptr<const mega::infer::SequenceModel> model;
  std::unique_ptr<mega::infer::ThreadPool> pool;
  mega_input input;
};

struct mega_translator {
  std::shared_ptr<const mega::infer::Translator> model;
  std::shared_ptr<mega::infer::ThreadPool> pool;
  mega::TranslationTexts texts;
  int64_t longest;  // tokens of a source; 0: any
};

namespace {

static_assert(MEGA_TOKEN_END == mega::kEnd);

// The caller's array is too small.
struct NoRoom : mega::Error {
  using Error::Error;
};

// Copies the text, truncated at a character boundary if necessary.
void set_message(mega_error* error, std::string_view text) {
  if (error == nullptr) return;
  text = mega::whole_characters(text, MEGA_ERROR_MESSAGE_SIZE - 1);
  std::memcpy(error->message, text.data(), text.size());
  error->message[text.size()] = '\0';
}

// Runs the body and converts exceptions to a status.
template <class Body>
mega_status guarded(mega_error* error, const Body& body) noexcept {
  set_message(error, "");
  try {
    body();
    return MEGA_OK;
  } catch (const NoRoom& problem) {
    set_message(error, problem.what());
    return MEGA_ERROR_ROOM;
  } catch (const mega::Error& problem) {
    set_message(error, problem.what());
    return MEGA_ERROR_REQUEST;
  } catch (const std::bad_alloc&) {
    set_message(error, "out of memory");
    return MEGA_ERROR_MEMORY;
  } catch (const std::exception& problem) {
    set_message(error, problem.what());
  } catch (...) {
    set_message(error, "unknown error");
  }
  return MEGA_ERROR_INTERNAL;
}

// The same for a body that creates a handle.
template <class Handle, class Make>
mega_status guarded_make(Handle** handle, mega_error* error, const Make& make) noexcept {
  if (handle != nullptr) *handle = nullptr;
  return guarded(error, [&] {
    mega::require(handle != nullptr, "the output pointer for the handle is NULL");
    *handle = new Handle(make());
  });
}

template <class T>
T& at(T* pointer, const char* what) {
  mega::require(pointer != nullptr, "NULL instead of ", what);
  return *pointer;
}

template <class T>
std::span<T> array(T* data, size_t count, const char* what) {
  mega::require(data != nullptr || count == 0, "NULL instead of ", what);
  constexpr size_t kMost = static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max()) / sizeof(T);
  mega::require(count <= kMost, count, " entries for ", what, ": no array has so many");
  return {data, count};
}

// A new handle of a session.
mega_session new_session(mega::infer::Session session) {
  return {std::make_shared<mega::infer::Session>(std::move(session))};
}

mega::infer::Session& session_at(mega_session* session) { return *at(session, "a session").session; }

template <class T>
void copy_out(const T& from, std::span<typename T::value_type> to, size_t* count, const char* what) {
  at(count, "the output count") = from.size();
  if (from.size() > to.size())
    throw NoRoom(std::to_string(from.size()) + " " + what + ", but space for " + std::to_string(to.size()));
  std::copy(from.begin(), from.end(), to.begin());
}

mega::infer::CacheType cache_type(mega_cache cache) {
  mega::require(cache == MEGA_CACHE_F32 || cache == MEGA_CACHE_BF16, "unknown cache type ", cache,
                "; use MEGA_CACHE_F32 or MEGA_CACHE_BF16");
  return cache == MEGA_CACHE_BF16 ? mega::infer::CacheType::bf16 : mega::infer::CacheType::f32;
}

// NULL: the default.
mega::infer::SamplerOptions sampler_options(const mega_sampling* sampling) {
  mega::infer::SamplerOptions options;
  if (sampling == nullptr) return options;
  options.repetition_penalty = sampling->repetition_penalty;
  options.repetition_window = sampling->repetition_window;
  options.temperature = sampling->temperature;
  options.top_k = sampling->top_k;
  options.top_p = sampling->top_p;
  options.min_p = sampling->min_p;
  options.seed = sampling->seed;
  return options;
}

// NULL: the default.
mega::infer::TranslateOptions translate_options(const mega_search* search) {
  mega::infer::TranslateOptions options;
  if (search == nullptr) return options;
  options.search.beam = search->beam;
  options.search.nbest = search->nbest;
  options.search.length_penalty = search->length_penalty;
  options.search.max_length = search->max_length;
  options.batch = search->batch;
  options.split = search->split != 0;
  return options;
}

struct InputName {
  mega_input operator()(const mega::TextInput&) const { return MEGA_INPUT_TEXT; }
  mega_input operator()(const mega::ImageInput&) const { return MEGA_INPUT_IMAGE; }
  mega_input operator()(const mega::AudioInput&) const { return MEGA_INPUT_AUDIO; }
  mega_input operator()(const mega::SeriesInput&) const { return MEGA_INPUT_SERIES; }
  mega_input operator()(const mega::LanguageInput&) const { return MEGA_INPUT_LANGUAGE; }
  mega_input operator()(const mega::TranslationInput&) const { return MEGA_INPUT_TRANSLATION; }
};

mega_input input_of(const mega::ModelFile& file, const std::string& where) {
  if (!mega::has_signature(file.tensors)) return MEGA_INPUT_UNKNOWN;
  return std::visit(InputName(), mega::read_signature(file.tensors, where).input.input);
}

// What the classifier reads if it is an `Input`; null otherwise, or if the file does not say.
template <class Input>
const Input* input_as(const mega_classifier* classifier) {
  if (mega_classifier_input(classifier) == MEGA_INPUT_UNKNOWN) return nullptr;
  return std::get_if<Input>(&classifier->model->signature().input.input);
}

// What classifies its input.
const char* function_for(mega_input input) {
  if (input == MEGA_INPUT_TEXT) return "mega_classify_bytes";
  return input == MEGA_INPUT_IMAGE ? "mega_classify_pixels" : "mega_classify_values";
}

// A model without a signature is left to the encoder, which says what is missing.
void require_input(const mega_classifier& classifier, std::initializer_list<mega_input> accepted,
                   const char* what) {
  const mega_input input = mega_classifier_input(&classifier);
  if (input == MEGA_INPUT_UNKNOWN) return;
  const auto& options = classifier.model->signature().input.input;
  mega::require(std::find(accepted.begin(), accepted.end(), input) != accepted.end(), "this model reads ",
                std::visit([](const auto& kind) { return kind.kind; }, options), ", not ", what, ": use ",
                function_for(input));
}

void check_finite(std::span<const float> numbers) {
  mega::require(std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); }),
                "the model's outputs are not finite: its weights are damaged, or training diverged");
}

void classify(const mega_classifier& classifier, const mega::data::Record& record, size_t documents,
              std::span<float> outputs) {
  const mega::infer::SequenceModel& model = *classifier.model;
  const mega::data::Encoder& encoder = model.encoder();
  mega::require(static_cast<int64_t>(documents) == model.documents(), "this model reads ", model.documents(),
                " document(s), not ", documents);
  mega::infer::Workspace work;  // a call's own: several may be going on
  std::vector<float> result = mega::infer::outputs_of(model, encoder, record, {*classifier.pool, work});
  const mega::Signature& signature = model.signature();
  if (!signature.target_mean.empty()) mega::to_target_units(result, signature);
  check_finite(result);
  size_t count = 0;
  copy_out(result, outputs, &count, "outputs");
}

}  // namespace

const char* mega_version() { return mega::version(); }

int32_t mega_abi_version() { return MEGA_ABI_VERSION; }

mega_status mega_input_of(const char* path, mega_input* input, mega_error* error) {
  return guarded(error, [&] {
    mega_input& result = at(input, "the output input");
    const std::filesystem::path file = mega::model_path(&at(path, "a path"));
    result = input_of(mega::ModelFile::open(file), file.string());
  });
}

mega_status mega_model_open(const char* path, mega_model** model, mega_error* error) {
  return guarded_make(model, error, [&] {
    return mega_model{mega::infer::LanguageModel::open(mega::model_path(&at(path, "a path")))};
  });
}

void mega_model_close(mega_model* model) { delete model; }

int64_t mega_model_vocabulary(const mega_model* model) {
  return model == nullptr ? 0 : model->model->options().vocabulary;
}

mega_status mega_model_tokenize(const mega_model* model, const char* text, size_t bytes, int32_t* tokens,
                                size_t capacity, size_t* count, mega_error* error) {
  return guarded(error, [&] {
    const auto all = array(text, bytes, "a text");
    copy_out(at(model, "a model").model->tokenizer().encode({all.data(), all.size()}),
             array(tokens, capacity, "tokens"), count, "tokens");
  });
}

mega_status mega_model_detokenize(const mega_model* model, const int32_t* tokens, size_t count,
                                  int32_t begins_line, char* text, size_t capacity, size_t* bytes,
                                  mega_error* error) {
  return guarded(error, [&] {
    const mega::Tokenizer& tokenizer = at(model, "a model").model->tokenizer();
    std::string all;
    bool begins = begins_line != 0;
    for (const int32_t token : array(tokens, count, "tokens")) {
      const std::string part = tokenizer.text(token, begins);
      if (!part.empty()) begins = part.back() == '\n' || tokenizer.ends_inside_word(token);
      all += part;
    }
    copy_out(all, array(text, capacity, "a text"), bytes, "bytes");
  });
}

mega_status mega_session_new(const mega_model* model, int32_t threads, mega_cache cache,
                             mega_session** session, mega_error* error) {
  return guarded_make(session, error, [&] {
    return new_session(
        {at(model, "a model").model, std::make_shared<mega::infer::ThreadPool>(threads), cache_type(cache)});
  });
}

mega_status mega_session_fork(const mega_session* session, mega_session** fork, mega_error* error) {
  return guarded_make(fork, error, [&] { return new_session(at(session, "a session").session->fork()); });
}

void mega_session_free(mega_session* session) { delete session; }

mega_status mega_session_feed(mega_session* session, const int32_t* tokens, size_t count, mega_error* error) {
  return guarded(error, [&] { session_at(session).feed(array(tokens, count, "tokens")); });
}

mega_status mega_sessions_feed(mega_session* const* sessions, const int32_t* const* tokens,
                               const size_t* counts, size_t session_count, mega_error* error) {
  return guarded(error, [&] {
    const auto handles = array(sessions, session_count, "sessions");
    const auto texts = array(tokens, session_count, "tokens");
    const auto lengths = array(counts, session_count, "numbers of tokens");
    std::vector<mega::infer::Session*> all;
    std::vector<std::span<const int32_t>> parts;
    for (size_t i = 0; i < session_count; ++i) {
      all.push_back(&session_at(handles[i]));
      parts.push_back(array(texts[i], lengths[i], "tokens"));
    }
    mega::infer::feed_together(all, parts);
  });
}

mega_status mega_session_logits(mega_session* session, const float** logits, size_t* count,
                                mega_error* error) {
  return guarded(error, [&] {
    const float*& first = at(logits, "the output logits");
    size_t& number = at(count, "the output count");
    const auto all = session_at(session).logits();
    check_finite(all);
    first = all.data();
    number = all.size();
  });
}

int64_t mega_session_position(const mega_session* session) {
  return session == nullptr ? 0 : session->session->position();
}

int64_t mega_session_bytes(const mega_session* session) {
  return session == nullptr ? 0 : session->session->bytes();
}

mega_status mega_session_save(const mega_session* session, const char* path, mega_error* error) {
  return guarded(error, [&] { at(session, "a session").session->save(&at(path, "a path")); });
}

mega_status mega_session_load(const mega_model* model, const char* path, int32_t threads,
                              mega_session** session, mega_error* error) {
  return guarded_make(session, error, [&] {
    return new_session(mega::infer::Session::load(&at(path, "a path"), at(model, "a model").model,
                                                  std::make_shared<mega::infer::ThreadPool>(threads)));
  });
}

mega_status mega_generation_new(mega_session* session, const char* prompt, size_t prompt_bytes,
                                const mega_sampling* sampling, int64_t max_tokens, const char* const* stop,
                                size_t stop_count, mega_generation** generation, mega_error* error) {
  return guarded_make(generation, error, [&] {
    const std::shared_ptr<mega::infer::Session>& own = at(session, "a session").session;
    const auto text = array(prompt, prompt_bytes, "a prompt");
    mega::infer::GenerateOptions options;
    options.sampler = sampler_options(sampling);
    options.max_tokens = max_tokens;
    for (const char* one : array(stop, stop_count, "stop strings"))
      options.stop.emplace_back(&at(one, "a stop string"));
    const mega::Tokenizer& tokenizer = own->model().tokenizer();
    return mega_generation{own, {own, tokenizer, tokenizer.encode({text.data(), text.size()}), options}, ""};
  });
}

mega_status mega_generation_next(mega_generation* generation, const char** text, size_t* bytes,
                                 mega_error* error) {
  return guarded(error, [&] {
    const char*& first = at(text, "the output text");
    size_t& number = at(bytes, "the output number of bytes");
    mega_generation& own = at(generation, "a generation");
    own.piece = mega::valid_utf8(own.text.next());
    first = own.piece.data();
    number = own.piece.size();
  });
}

int64_t mega_generation_tokens(const mega_generation* generation) {
  return generation == nullptr ? 0 : generation->text.tokens();
}

void mega_generation_free(mega_generation* generation) { delete generation; }

mega_status mega_sampler_new(const mega_sampling* sampling, mega_sampler** sampler, mega_error* error) {
  return guarded_make(sampler, error,
                      [&] { return mega_sampler{mega::infer::Sampler(sampler_options(sampling))}; });
}

mega_status mega_sampler_draw(mega_sampler* sampler, const float* logits, size_t count,
                              const int32_t* history, size_t history_count, int32_t* token,
                              mega_error* error) {
  return guarded(error, [&] {
    int32_t& drawn = at(token, "the output token");
    drawn = at(sampler, "a sampler")
                .sampler.draw(array(logits, count, "logits"), array(history, history_count, "a history"));
  });
}

void mega_sampler_free(mega_sampler* sampler) { delete sampler; }

mega_status mega_classifier_open(const char* path, int32_t threads, mega_classifier** classifier,
                                 mega_error* error) {
  return guarded_make(classifier, error, [&] {
    const std::filesystem::path file = mega::model_path(&at(path, "a path"));
    mega::ModelFile model = mega::ModelFile::open(file);
    const mega_input input = input_of(model, file.string());
    return mega_classifier{mega::infer::open_model(std::move(model), file.string()),
                           std::make_unique<mega::infer::ThreadPool>(threads), input};
  });
}

void mega_classifier_close(mega_classifier* classifier) { delete classifier; }

int64_t mega_classifier_outputs(const mega_classifier* classifier) {
  return classifier == nullptr ? 0 : classifier->model->options().classes;
}

int64_t mega_classifier_documents(const mega_classifier* classifier) {
  return classifier == nullptr ? 0 : classifier->model->documents();
}

mega_input mega_classifier_input(const mega_classifier* classifier) {
  return classifier == nullptr ? MEGA_INPUT_UNKNOWN : classifier->input;
}

int64_t mega_classifier_rate(const mega_classifier* classifier) {
  const auto* audio = input_as<mega::AudioInput>(classifier);
  return audio == nullptr ? 0 : audio->rate;
}

int64_t mega_classifier_channels(const mega_classifier* classifier) {
  if (input_as<mega::AudioInput>(classifier) != nullptr) return 1;
  const auto* series = input_as<mega::SeriesInput>(classifier);
  return series == nullptr ? 0 : series->channels;
}

int64_t mega_classifier_height(const mega_classifier* classifier) {
  const auto* image = input_as<mega::ImageInput>(classifier);
  return image == nullptr ? 0 : image->height;
}

int64_t mega_classifier_width(const mega_classifier* classifier) {
  const auto* image = input_as<mega::ImageInput>(classifier);
  return image == nullptr ? 0 : image->width;
}

int64_t mega_classifier_image_channels(const mega_classifier* classifier) {
  const auto* image = input_as<mega::ImageInput>(classifier);
  return image == nullptr ? 0 : image->channels;
}

int32_t mega_classifier_can_stream(const mega_classifier* classifier) {
  if (classifier == nullptr) return 0;
  const auto* model = dynamic_cast<const mega::infer::Classifier*>(classifier->model.get());
  if (model == nullptr) return 0;
  return mega::infer::why_not_streaming(model->options(), model->documents()).empty() ? 1 : 0;
}

const char* mega_classifier_class(const mega_classifier* classifier, int64_t index) {
  if (classifier == nullptr) return nullptr;
  const std::vector<std::string>& classes = classifier->model->signature().classes;
  return index >= 0 && index < std::ssize(classes) ? classes[static_cast<size_t>(index)].c_str() : nullptr;
}

mega_status mega_classify_bytes(const mega_classifier* classifier, const char* const* documents,
                                const size_t* bytes, size_t document_count, float* outputs,
                                size_t output_count, mega_error* error) {
  return guarded(error, [&] {
    require_input(at(classifier, "a classifier"), {MEGA_INPUT_TEXT, MEGA_INPUT_IMAGE}, "bytes");
    const auto texts = array(documents, document_count, "documents");
    const auto lengths = array(bytes, document_count, "numbers of bytes");
    const auto text = [&](size_t i) {
      const auto all = array(texts[i], lengths[i], "a document");
      return std::string(all.begin(), all.end());
    };
    mega::data::Record record;
    record.where = "the input";
    if (document_count > 0) record.bytes = text(0);
    if (document_count > 1) record.second = text(1);
    classify(at(classifier, "a classifier"), record, document_count, array(outputs, output_count, "outputs"));
  });
}

mega_status mega_classify_values(const mega_classifier* classifier, const float* values, size_t count,
                                 float* outputs, size_t output_count, mega_error* error) {
  return guarded(error, [&] {
    const mega_classifier& own = at(classifier, "a classifier");
    require_input(own, {MEGA_INPUT_AUDIO, MEGA_INPUT_SERIES}, "numbers");
    const auto all = array(values, count, "values");
    mega::data::Record record;
    record.where = "the input";
    for (const float x : all)
      mega::require(std::isfinite(x), "the input contains ", x, ": expected finite numbers");
    record.values.assign(all.begin(), all.end());
    classify(at(classifier, "a classifier"), record, 1, array(outputs, output_count, "outputs"));
  });
}

mega_status mega_classify_picture_file(const mega_classifier* classifier, const char* path, float* outputs,
                                       size_t output_count, mega_error* error) {
  return guarded(error, [&] {
    const mega_classifier& own = at(classifier, "a classifier");
    require_input(own, {MEGA_INPUT_IMAGE}, "pictures");
    const std::string file = &at(path, "a path");
    classify(own, mega::data::read_image(file, own.model->signature().data), 1,
             array(outputs, output_count, "outputs"));
  });
}

mega_status mega_classify_pixels(const mega_classifier* classifier, const uint8_t* pixels, int64_t height,
                                 int64_t width, int64_t channels, float* outputs, size_t output_count,
                                 mega_error* error) {
  return guarded(error, [&] {
    const mega_classifier& own = at(classifier, "a classifier");
    require_input(own, {MEGA_INPUT_IMAGE}, "pictures");
    mega::require(channels >= 1 && channels <= 4, "a picture of ", channels, " channels; expected 1 to 4");
    mega::data::Record record;
    record.where = "the input";
    mega::data::set_size(record.picture, height, width, channels, record.where);
    const auto all = array(pixels, record.picture.samples.size(), "pixels");
    std::copy(all.begin(), all.end(), record.picture.samples.begin());
    classify(own, record, 1, array(outputs, output_count, "outputs"));
  });
}

mega_status mega_translator_open(const char* path, int32_t threads, mega_translator** translator,
                                 mega_error* error) {
  return guarded_make(translator, error, [&] {
    const std::filesystem::path file = mega::model_path(&at(path, "a path"));
    auto model = mega::infer::Translator::open(file);
    mega::require(mega::has_signature(model->file().tensors), file.string(),
                  " has no description of its text: it was not written by `mega train`");
    const mega::Signature signature = mega::read_signature(model->file().tensors, file.string());
    mega::TranslationTexts texts =
        mega::make_translation_texts(signature, model->options().source_types(), model->options().vocabulary);
    return mega_translator{std::move(model), std::make_shared<mega::infer::ThreadPool>(threads),
                           std::move(texts),
                           std::get<mega::TranslationInput>(signature.input.input).max_length};
  });
}

void mega_translator_close(mega_translator* translator) { delete translator; }

mega_status mega_translate(const mega_translator* translator, const char* const* lines, const size_t* bytes,
                           size_t line_count, const mega_search* search, mega_translated translated,
                           void* context, mega_error* error) {
  return guarded(error, [&] {
    const mega_translator& own = at(translator, "a translator");
    mega::require(translated != nullptr, "NULL instead of a function for translations");
    const auto texts = array(lines, line_count, "lines");
    const auto lengths = array(bytes, line_count, "numbers of bytes");
    for (size_t i = 0; i < line_count; ++i) array(texts[i], lengths[i], "a line");
    mega::infer::TextTranslator translating(
        std::make_shared<mega::infer::TranslatorDecoder>(own.model, own.pool), own.texts, own.longest,
        translate_options(search));
    size_t next = 0;
    bool stopped = false;
    mega::infer::TranslateRequest request;
    request.next_line = [&]() -> std::optional<std::string> {
      if (stopped || next == line_count) return std::nullopt;
      const size_t i = next++;
      return lengths[i] == 0 ? std::string() : std::string(texts[i], lengths[i]);
    };
    request.use = [&](const mega::infer::TranslatedLine& line) {
      for (size_t rank = 0; rank < line.translations.size() && !stopped; ++rank) {
        const mega::infer::Translation& one = line.translations[rank];
        stopped = translated(context, static_cast<size_t>(line.number), rank, one.text.data(),
                             one.text.size(), one.score) != 0;
      }
    };
    request.go_on = [&] { return !stopped; };
    translating.translate(request);
  });
}
