#include "mega/config/files/signature.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/options/options_io.h"

namespace mega {
namespace {

constexpr const char* kInputKey = "input";
constexpr const char* kDataKey = "data";
constexpr const char* kClassesKey = "classes";
constexpr const char* kVocabularyKey = "vocabulary";
constexpr const char* kTargetVocabularyKey = "target_vocabulary";

// The tensors by name; S is Signature or const Signature.
template <class S>
auto statistics(S& signature) {
  return std::array{std::pair{"signature.mean", &signature.mean},
                    std::pair{"signature.deviation", &signature.deviation},
                    std::pair{"signature.target_mean", &signature.target_mean},
                    std::pair{"signature.target_deviation", &signature.target_deviation}};
}

template <class S>
auto vocabularies(S& signature) {
  return std::array{std::pair{kVocabularyKey, &signature.vocabulary},
                    std::pair{kTargetVocabularyKey, &signature.target_vocabulary}};
}

// Names that are not UTF-8, which a path may have, lose the bytes that are not.
std::string as_text(const auto& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> read_classes(const nlohmann::json& json, const std::string& where) {
  require(json.is_array(), where, ": expected a list of names, got ", in_quotes(json.dump()));
  std::vector<std::string> classes;
  std::set<std::string> seen;
  for (const nlohmann::json& name : json) {
    require(name.is_string(), where, ": expected names, got ", in_quotes(name.dump()));
    require(seen.insert(name).second, where, ": ", in_quotes(name.get<std::string>()), " is there twice");
    classes.push_back(name);
  }
  return classes;
}

std::vector<float> read_numbers(const TensorView& tensor, const std::string& where) {
  require(tensor.dtype == DType::F32, where, ": ", tensor.name, ": expected F32, got ",
          to_string(tensor.dtype));
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

// Whether x -> (x - mean) / deviation makes numbers of numbers.
void check_pair(const std::vector<float>& mean, const std::vector<float>& deviation,
                const std::string& where) {
  require(mean.size() == deviation.size(), where, ": mean and deviation differ in size: ", mean.size(),
          " and ", deviation.size());
  for (size_t i = 0; i < mean.size(); ++i)
    require(std::isfinite(mean[i]) && std::isfinite(deviation[i]) && deviation[i] > 0, where, ": a mean of ",
            mean[i], " and a deviation of ", deviation[i]);
}

// Throws where the statistics are not those of this input and these outputs.
void check_statistics(const Signature& signature, const std::string& where) {
  check_pair(signature.mean, signature.deviation, where);
  check_pair(signature.target_mean, signature.target_deviation, where);
  require(signature.classes.empty() || signature.target_mean.empty(), where,
          ": has classes, and statistics of numbers to predict");

  const Standardize kind = standardization(signature.input);
  const auto channels = static_cast<size_t>(channels_of(signature.input));
  const size_t size = signature.mean.size();
  const bool fits = kind == Standardize::none      ? size == 0
                    : kind == Standardize::channel ? size == 0 || size == channels
                                                   : size % channels == 0;
  require(fits, where, ": a mean of ", size, " numbers does not fit an input of ", channels,
          " channel(s) with standardize = ", to_string(kind));
}

std::shared_ptr<const Tokenizer> make_fitting(TextUnits units, const std::string& vocabulary,
                                              const char* name, int64_t types) {
  std::shared_ptr<const Tokenizer> tokenizer = make_tokenizer(units, vocabulary, name);
  require(tokenizer->size() <= types, "the ", name, " has ", tokenizer->size(), " token types, the model ",
          types);
  return tokenizer;
}

}  // namespace

Metadata signature_metadata(const Signature& signature) {
  return {{kInputKey, as_text(options_to_json(signature.input))},
          {kDataKey, as_text(options_to_json(signature.data))},
          {kClassesKey, as_text(nlohmann::json(signature.classes))}};
}

std::vector<TensorView> signature_tensors(const Signature& signature) {
  std::vector<TensorView> tensors;
  for (const auto& [name, values] : statistics(signature))
    if (!values->empty())
      tensors.push_back(
          {name, DType::F32, {static_cast<int64_t>(values->size())}, std::as_bytes(std::span(*values))});
  for (const auto& [name, text] : vocabularies(signature))
    if (!text->empty())
      tensors.push_back(
          {name, DType::U8, {static_cast<int64_t>(text->size())}, std::as_bytes(std::span(*text))});
  return tensors;
}

bool is_signature_tensor(std::string_view name) {
  const Signature any;
  const auto named = [&](const auto& one) { return name == one.first; };
  const auto numbers = statistics(any);
  const auto texts = vocabularies(any);
  return std::any_of(numbers.begin(), numbers.end(), named) || std::any_of(texts.begin(), texts.end(), named);
}

bool has_signature(const Safetensors& file) { return file.metadata().contains(kInputKey); }

Signature read_signature(const Safetensors& file, const std::string& where) {
  Signature signature;
  const auto json_at = [&](const char* key) {
    const auto found = file.metadata().find(key);
    require(found != file.metadata().end(), where, ": its metadata has no ", in_quotes(key),
            ": the model was not trained by `mega train`");
    return parse_json(found->second, where + ": " + key, {.depth = 8, .values = 1 << 20});
  };
  options_from_json(signature.input, json_at(kInputKey), {where + ": " + kInputKey, {}, ""});
  validate(signature.input);
  options_from_json(signature.data, json_at(kDataKey), {where + ": " + kDataKey, {}, ""});
  signature.classes = read_classes(json_at(kClassesKey), where + ": " + kClassesKey);
  for (const auto& [name, values] : statistics(signature))
    if (const TensorView* tensor = file.find(name)) *values = read_numbers(*tensor, where);
  check_statistics(signature, where);
  for (const auto& [name, text] : vocabularies(signature)) {
    const TensorView* tensor = file.find(name);
    if (tensor == nullptr) continue;
    require(tensor->dtype == DType::U8, where, ": ", name, ": expected U8, got ", to_string(tensor->dtype));
    text->assign(reinterpret_cast<const char*>(tensor->data.data()), tensor->data.size());
  }
  return signature;
}

void to_target_units(std::span<float> outputs, const Signature& signature) {
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = outputs[i] * signature.target_deviation[i] + signature.target_mean[i];
}

std::shared_ptr<const Tokenizer> make_tokenizer(const Signature& signature, int64_t types) {
  const TokenizerOptions* options = tokenizer_options(signature.input);
  if (options == nullptr) return nullptr;
  return make_fitting(options->units, signature.vocabulary, kVocabularyKey, types);
}

TranslationTokenizers make_tokenizers(const Signature& signature, int64_t source_types,
                                      int64_t target_types) {
  const auto* input = std::get_if<TranslationInput>(&signature.input.input);
  require(input != nullptr, "a translator reads lines of two languages: expected input.kind = translation");
  TranslationTokenizers made;
  made.source = make_fitting(input->units, signature.vocabulary, kVocabularyKey, source_types);
  if (!input->joint) {
    made.target = make_fitting(input->units, signature.target_vocabulary, kTargetVocabularyKey, target_types);
    return made;
  }
  require(signature.target_vocabulary.empty(), "both languages have one vocabulary (input.joint), but there ",
          "is one of the target too");
  require(made.source->size() <= target_types, "the vocabulary has ", made.source->size(),
          " token types, the model ", target_types, " for its target");
  made.target = made.source;
  return made;
}

TranslationTexts make_translation_texts(const Signature& signature, int64_t source_types,
                                        int64_t target_types) {
  const TranslationTokenizers tokenizers = make_tokenizers(signature, source_types, target_types);
  const auto& input = std::get<TranslationInput>(signature.input.input);
  return {{source_text(input), tokenizers.source}, {target_text(input), tokenizers.target}};
}

int64_t embedding_count(int64_t types, int64_t reserved) { return (types + reserved + 7) / 8 * 8; }

namespace {

void check_picture_input(const InputOptions& input, const ImageOptions& options) {
  const auto* image = std::get_if<ImageInput>(&input.input);
  require(image != nullptr, "the model reads pictures: input.kind must be image");
  const int64_t channels = channels_of(input);
  require(
      image->height == options.rows() && image->width == options.columns() && channels == options.channels,
      "the model reads pictures of ", options.rows(), " by ", options.columns(), " pixels with ",
      options.channels, " channel(s), and the input has ", image->height, " by ", image->width, " with ",
      channels);
}

// With a vocabulary of its own, a model numbers bytes or the words of ListOps in another order than we do,
// and may lack some.
void check_sequence_input(const InputOptions& input, const SequenceOptions& options, bool own_vocabulary) {
  const auto* text = std::get_if<TextInput>(&input.input);
  require((text != nullptr) == (options.input == InputKind::tokens),
          "model.input = ", to_string(options.input),
          " does not fit input.kind: tokens come from texts, real numbers from all else");
  if (text != nullptr && has_fixed_vocabulary(text->units) && !own_vocabulary) {
    const int64_t types = make_tokenizer(text->units, "", "")->size();
    require(options.vocabulary > types, "model.vocabulary = ", options.vocabulary,
            " is too small: input.units = ", to_string(text->units), " needs more than ", types);
  }
  validate(input);
  if (options.input != InputKind::tokens)
    require(options.channels == channels_of(input), "model.channels = ", options.channels,
            " does not fit the input, which has ", channels_of(input));
}

void check_any_input(const InputOptions& input, const PredictorOptions& options, bool own_vocabulary) {
  if (const auto* image = dynamic_cast<const ImageOptions*>(&options)) check_picture_input(input, *image);
  if (const auto* sequence = dynamic_cast<const SequenceOptions*>(&options))
    check_sequence_input(input, *sequence, own_vocabulary);
}

}  // namespace

void check_input(const InputOptions& input, const PredictorOptions& options) {
  check_any_input(input, options, false);
}

std::shared_ptr<const Tokenizer> check_signature(const Signature& signature,
                                                 const PredictorOptions& options) {
  check_any_input(signature.input, options, !signature.vocabulary.empty());
  const bool regression = options.objective == Objective::regression;
  const size_t outputs = regression ? signature.target_mean.size() : signature.classes.size();
  require(static_cast<int64_t>(outputs) == options.classes && signature.classes.empty() == regression,
          "the model has ", options.classes, " outputs, and the file has ",
          regression ? "mean and deviation of " : "names for ", outputs);
  const auto* sequence = dynamic_cast<const SequenceOptions*>(&options);
  return sequence == nullptr ? nullptr
                             : make_tokenizer(signature, sequence->vocabulary - reserved_tokens(*sequence));
}

}  // namespace mega
