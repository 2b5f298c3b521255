#include "mega/config/import/huggingface.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"
#include "mega/base/strings.h"
#include "mega/config/import/released_words.h"
#include "mega/config/import/stand_in_names.h"

namespace mega {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char* kTypes = "mega.embedding_layer.token_type_embeddings.weight";

// How many relative positions a simple bias has: the program indexes it by the chunk, if there is one, even
// where it does not attend in chunks, and stores it for the longest text all the same.
int64_t bias_positions(const HuggingFaceConfig& config) {
  const int64_t chunk = config.integer("chunk_size", -1);
  return chunk > 0 ? chunk : config.integer("max_positions", 2048);
}

BlockOptions block_options(const HuggingFaceConfig& config) {
  const bool decoder = config.flag("is_decoder", false), cached = config.flag("use_cache", true);
  BlockOptions block;
  block.width = config.integer("hidden_size", 128);
  block.values = config.integer("intermediate_size", 256);
  block.shared = config.integer("shared_representation_size", 64);
  block.hidden = config.flag("use_normalized_ffn", true) ? config.integer("nffn_hidden_size", 256) : 0;
  block.ema.dimension = config.integer("ema_projection_size", 16);
  block.ema.bidirectional = config.flag("bidirectional", true);
  // A decoder with a cache computes its averages step by step, without truncation.
  block.ema.truncation = decoder && cached ? 0 : std::max<int64_t>(config.integer("truncation", 0), 0);
  block.attention = released_attention(config.text("attention_activation", "softmax"),
                                       config.where("attention_activation"));
  block.position = released_position(config.text("relative_positional_bias", "rotary"),
                                     config.where("relative_positional_bias"));
  block.max_positions = bias_positions(config);
  block.chunk = config.flag("use_chunking", false) ? config.integer("chunk_size", -1) : -1;
  block.causal = decoder;
  block.norm =
      released_norm(config.text("normalization_type", "scalenorm"), config.where("normalization_type"));
  require(
      block.norm != NormKind::rms, config.where("normalization_type"),
      ": that program's rmsnorm does not normalise (it throws its result away), and ours does: it would be "
      "another model");
  block.affine = config.flag("norm_affine", true);
  block.prenorm = config.flag("normalize_before_mega", true);
  require(config.flag("normalize_before_ffn", true) == block.prenorm || block.hidden == 0,
          config.where("normalize_before_ffn"),
          ": differs from normalize_before_mega; our blocks normalise before both sublayers, or after both");
  block.activation = released_activation(config.text("activation", "silu"), config.where("activation"));
  block.dropout = config.number("dropout_prob", 0.1);
  block.attention_dropout = config.number("attention_probs_dropout_prob", 0.1);
  block.hidden_dropout = config.number("hidden_dropout_prob", 0.1);
  block.activation_dropout = config.number("nffn_activation_dropout_prob", 0.1);
  block.feature_dropout = config.flag("use_feature_dropout", false);
  return block;
}

// A file has every block that its options speak of; that is checked before a table of them is made.
int64_t layer_count(const HuggingFaceConfig& config, const StateDict& state, const std::string& stack) {
  const int64_t there = state.count(stack + ".layers.", ".mega_layer.gamma");
  const int64_t wanted = config.integer("num_hidden_layers", 4);
  require(wanted == there && there > 0, config.where("num_hidden_layers"), ": ", wanted,
          " blocks, but the model has tensors of ", there);
  return there;
}

}  // namespace

HuggingFaceConfig::HuggingFaceConfig(const fs::path& path) : path_(path) {
  json_ = parse_json(read_file(path), path.string());
  require(json_.is_object(), path.string(), ": expected an object");
  const std::string type = text("model_type", "mega");
  require(type == "mega", where("model_type"), ": ", in_quotes(type), ", expected \"mega\"");
  const auto classes = json_.find("architectures");
  const bool named =
      classes != json_.end() && classes->is_array() && !classes->empty() && classes->front().is_string();
  require(named, where("architectures"), ": expected the class of the model");
  architecture_ = classes->front().get<std::string>();
  family_ = meaning<HuggingFaceFamily>(architecture_, where("architectures"),
                                       {{"MegaForCausalLM", HuggingFaceFamily::causal},
                                        {"MegaForMaskedLM", HuggingFaceFamily::masked},
                                        {"MegaForSequenceClassification", HuggingFaceFamily::classifier}});
}

std::string HuggingFaceConfig::where(const char* name) const { return path_.string() + ": " + name; }

template <class Value, class Check>
Value HuggingFaceConfig::get(const char* name, Value missing, Check is_right, const char* expected) const {
  const auto found = json_.find(name);
  if (found == json_.end() || found->is_null()) return missing;
  require(is_right(*found), where(name), ": expected ", expected, ", got ", json_text(*found));
  return found->template get<Value>();
}

std::string HuggingFaceConfig::text(const char* name, const char* missing) const {
  return get<std::string>(
      name, missing, [](const auto& value) { return value.is_string(); }, "text");
}

int64_t HuggingFaceConfig::integer(const char* name, int64_t missing) const {
  return get<int64_t>(
      name, missing, [](const auto& value) { return value.is_number_integer(); }, "an integer");
}

double HuggingFaceConfig::number(const char* name, double missing) const {
  return get<double>(
      name, missing, [](const auto& value) { return value.is_number(); }, "a number");
}

bool HuggingFaceConfig::flag(const char* name, bool missing) const {
  return get<bool>(
      name, missing, [](const auto& value) { return value.is_boolean(); }, "true or false");
}

std::vector<std::string> HuggingFaceConfig::labels() const {
  std::vector<std::string> names;
  const auto found = json_.find("id2label");
  if (found == json_.end() || !found->is_object()) return names;
  for (size_t i = 0; i < found->size(); ++i) {
    const auto label = found->find(std::to_string(i));
    require(label != found->end() && label->is_string(), where("id2label"), ": class ", i, " has no name");
    names.push_back(label->get<std::string>());
  }
  return names;
}

fs::path huggingface_tensors(const fs::path& path) {
  const fs::path folder = fs::is_directory(path) ? path : path.parent_path();
  if (path.filename() != kConfig && !fs::is_directory(path)) return path;
  for (const char* name : {"model.safetensors", "pytorch_model.bin"})
    if (fs::exists(folder / name)) return folder / name;
  fail(folder.string(), ": has no model.safetensors and no pytorch_model.bin");
}

bool is_huggingface(const fs::path& tensors) {
  std::error_code none;
  return fs::is_regular_file(tensors.parent_path() / kConfig, none);
}

std::vector<float> rename_from_huggingface(StateDict& state, const HuggingFaceConfig& config) {
  std::vector<float> added;
  if (const TorchTensor* types = state.find(kTypes)) {
    if (config.flag("add_token_type_embeddings", true)) {
      added.resize(static_cast<size_t>(state.size(kTypes, 1)));
      require(types->elements() >= std::ssize(added), state.where(), ": ", kTypes, ": is empty");
      types->read(0, added);
    }
    state.erase(kTypes);
  }
  state.rename(
      [&](const std::string& name) { return name_from_huggingface(name, config.family()).value_or(name); });
  // The rest of an oversized bias is never read.
  const int64_t used = 2 * bias_positions(config) - 1;
  const std::string stack = config.family() == HuggingFaceFamily::classifier ? "encoder.encoder" : "decoder";
  for (int64_t i = 0; i < state.count(stack + ".layers.", ".mega_layer.gamma"); ++i) {
    const std::string bias = stack + ".layers." + std::to_string(i) + ".mega_layer.rel_pos_bias.rel_pos_bias";
    if (state.has(bias) && used > 0 && state.size(bias, 0) > used) state.keep_first(bias, used);
  }
  return added;
}

ModelOptions huggingface_options(const HuggingFaceConfig& config, const StateDict& state) {
  const int64_t vocabulary = config.integer("vocab_size", 30522);
  if (config.family() == HuggingFaceFamily::classifier) {
    ClassifierOptions options;
    options.block = block_options(config);
    options.layers = layer_count(config, state, "encoder.encoder");
    options.final_norm = false;
    options.vocabulary = vocabulary;
    options.pooling = Pooling::first;
    options.head = options.block.width;
    options.head_activation = HeadActivation::tanh;
    options.head_bias = true;
    options.classes = state.size("sentence_projection_layer.weight", 0);
    return {options};
  }
  LanguageModelOptions options;
  options.block = block_options(config);
  options.masked = config.family() == HuggingFaceFamily::masked;
  require(options.masked != options.block.causal, config.where("is_decoder"), ": expected ",
          options.masked ? "false" : "true", " for ", config.architecture());
  options.layers = layer_count(config, state, "decoder");
  options.final_norm = false;
  options.vocabulary = vocabulary;
  options.scale_embedding = false;
  options.tie_output = config.flag("tie_word_embeddings", true);
  options.output_bias = true;
  options.output_dense = config.flag("add_lm_hidden_dense_layer", true);
  return {options};
}

ImportedSignature huggingface_signature(const HuggingFaceConfig& config, const ModelOptions& options,
                                        const DataFiles& files) {
  require(
      files.codes.empty() && files.dictionaries.empty(),
      "--dict, --codes: are files of fairseq; tokenizers of Hugging Face are not read, tokens are numbers");
  ImportedSignature result;
  Signature& signature = result.signature;
  result.notes.emplace_back("tokens are read and written as their numbers: its tokenizer is not imported");
  if (const SequenceOptions* sequence = sequence_options(options)) {
    signature.input.input.emplace<TextInput>(TextUnits::words, options.kind().max_length());
    signature.vocabulary = numbers_as_words(sequence->vocabulary);
    signature.classes =
        !files.classes.empty() ? read_class_names(files.classes, sequence->classes) : config.labels();
    if (signature.classes.empty()) signature.classes = numbers_as_names(sequence->classes);
    return result;
  }
  require(files.classes.empty(), files.classes.string(), ": names of classes are for classifiers");
  signature.input.input.emplace<LanguageInput>().units = TextUnits::words;
  signature.vocabulary = numbers_as_words(token_options(options)->vocabulary);
  return result;
}

}  // namespace mega
