// config.json and model.safetensors. Hugging Face's Mega models are the released layers between an embedding
// without scale and an output layer with bias, with no norm after the last block.
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "mega/config/export/export_model.h"
#include "mega/config/export/exported_tensors.h"
#include "mega/config/files/signature.h"
#include "mega/config/import/huggingface_names.h"
#include "mega/config/import/import_checkpoint.h"
#include "mega/config/import/released_words.h"

namespace mega {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// What a model looks like from there.
struct Description {
  HuggingFaceFamily family = HuggingFaceFamily::causal;
  BlockOptions block;
  int64_t layers = 0, vocabulary = 0;
  Json config;                       // what is not of the block
  bool adds_output = false;          // an output layer of its own, because the embedding is scaled,
  bool adds_bias = false;            // and a bias of zeros
  double scale = 1.0;                // of embeddings
  std::vector<std::string> changed;  // options that read differently when it is imported again
};

void require_family(bool condition, const char* what) {
  require(condition, "Hugging Face's Mega models have ", what, ": this one cannot be exported to it");
}

Description describe(const LanguageModelOptions& options) {
  require_family(options.cutoffs.empty() && options.embedding_width == 0,
                 "one embedding of the model's width for every token");
  require_family(!options.block.prenorm || !options.final_norm,
                 "no norm after the last block of a prenorm stack");
  require_family(!options.normalize_embedding, "no norm after the embedding");
  Description description;
  description.family = options.masked ? HuggingFaceFamily::masked : HuggingFaceFamily::causal;
  description.block = options.block;
  description.layers = options.layers;
  description.vocabulary = options.vocabulary;
  if (options.scale_embedding) description.scale = std::sqrt(static_cast<double>(options.block.width));
  description.adds_output = options.tie_output && description.scale != 1.0;
  description.adds_bias = !options.output_bias;
  description.config = {{"add_lm_hidden_dense_layer", options.output_dense},
                        {"tie_word_embeddings", options.tie_output && !description.adds_output},
                        {"is_decoder", !options.masked}};
  description.changed = {"model.scale_embedding", "model.tie_output", "model.output_bias", "model.final_norm",
                         "model.affine_final_norm"};
  return description;
}

Description describe(const ClassifierOptions& options, const Signature& signature) {
  require_family(!options.block.prenorm || !options.final_norm,
                 "no norm after the last block of a prenorm stack");
  require_family(!options.normalize_embedding, "no norm after the embedding");
  require_family(options.input == InputKind::tokens && options.pooling == Pooling::first &&
                     options.head_activation == HeadActivation::tanh && options.head_bias &&
                     options.head == options.block.width && options.objective == Objective::classification,
                 "classifiers of texts whose head reads the first position, through tanh, with biases");
  Description description;
  description.family = HuggingFaceFamily::classifier;
  description.block = options.block;
  description.layers = options.layers;
  description.vocabulary = options.vocabulary;
  Json labels = Json::object(), numbers = Json::object();
  for (size_t i = 0; i < signature.classes.size(); ++i) {
    labels[std::to_string(i)] = signature.classes[i];
    numbers[signature.classes[i]] = i;
  }
  description.config = {{"is_decoder", false}, {"num_labels", options.classes}};
  if (!labels.empty()) description.config.update(Json{{"id2label", labels}, {"label2id", numbers}});
  description.changed = {"model.final_norm"};
  return description;
}

Json config_of(const Description& description) {
  const BlockOptions& block = description.block;
  require_family(block.norm != NormKind::rms, "no RMSNorm that normalises");
  require_family(block.layer_dropout == 0 && block.drop_path == 0, "no stochastic depth");
  constexpr const char* kClasses[] = {"MegaForCausalLM", "MegaForMaskedLM", "MegaForSequenceClassification"};
  const bool chunked = block.chunk > 0;
  Json config = {{"architectures", {kClasses[static_cast<size_t>(description.family)]}},
                 {"model_type", "mega"},
                 {"torch_dtype", "float32"},
                 {"vocab_size", description.vocabulary},
                 {"hidden_size", block.width},
                 {"num_hidden_layers", description.layers},
                 {"intermediate_size", block.values},
                 {"shared_representation_size", block.shared},
                 {"use_normalized_ffn", block.hidden > 0},
                 {"nffn_hidden_size", block.hidden > 0 ? block.hidden : block.values},
                 {"ema_projection_size", block.ema.dimension},
                 {"bidirectional", block.ema.bidirectional},
                 {"truncation", block.ema.truncation > 0 ? Json(block.ema.truncation) : Json()},
                 {"use_chunking", chunked},
                 {"chunk_size", chunked ? block.chunk : -1},
                 {"max_positions", chunked ? block.chunk : block.max_positions},
                 {"attention_activation", released_word(block.attention)},
                 {"relative_positional_bias", released_word(block.position)},
                 {"normalization_type", released_word(block.norm)},
                 {"norm_affine", block.affine},
                 {"normalize_before_mega", block.prenorm},
                 {"normalize_before_ffn", block.prenorm},
                 {"activation", released_word(block.activation)},
                 {"dropout_prob", block.dropout},
                 {"attention_probs_dropout_prob", block.attention_dropout},
                 {"hidden_dropout_prob", block.hidden_dropout},
                 {"nffn_activation_dropout_prob", block.activation_dropout},
                 {"use_feature_dropout", block.feature_dropout},
                 {"add_token_type_embeddings", false},
                 {"num_attention_heads", 1},
                 {"use_cache", true},
                 {"bos_token_id", 0},
                 {"pad_token_id", 1},
                 {"eos_token_id", 2}};
  config.update(description.config);
  return config;
}

std::vector<float> scaled(const TensorView& tensor, double scale) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  for (float& value : values) value = static_cast<float>(static_cast<double>(value) * scale);
  return values;
}

ExportedTensors tensors_of(const ModelFile& file, const Description& description) {
  ExportedTensors exported = exported_tensors(file, false);
  const std::string embedding = "decoder.embed_tokens.weight", output = "decoder.output_projection.";
  for (TensorView& tensor : exported.tensors) {
    if (tensor.name != embedding || description.scale == 1.0) continue;
    const TensorView original = tensor;
    const std::vector<float>& values = exported.floats.emplace_back(scaled(original, description.scale));
    tensor.data = std::as_bytes(std::span(values));
    if (!description.adds_output) continue;
    exported.tensors.push_back({output + "weight", original.dtype, original.shape, original.data});
    break;  // the list has changed
  }
  if (description.adds_bias)
    exported.add(output + "bias", {description.vocabulary},
                 std::vector<float>(static_cast<size_t>(description.vocabulary)));
  for (TensorView& tensor : exported.tensors) {
    const auto name = name_for_huggingface(tensor.name, description.family);
    require(name.has_value(), file.where, ": ", in_quotes(tensor.name),
            " has no name in Hugging Face's models");
    tensor.name = *name;
  }
  return exported;
}

}  // namespace

void export_huggingface(const ModelFile& file, const fs::path& folder) {
  Description description;
  try {
    if (const auto* language = dynamic_cast<const LanguageModelOptions*>(&file.options.kind()))
      description = describe(*language);
    else if (const auto* classifier = dynamic_cast<const ClassifierOptions*>(&file.options.kind()))
      description = describe(
          *classifier, has_signature(file.tensors) ? read_signature(file.tensors, file.where) : Signature());
    else
      fail("Hugging Face has no Mega models of kind ", file.options.kind_name());
    const Json config = config_of(description);
    const ExportedTensors exported = tensors_of(file, description);
    require(!fs::exists(folder), folder.string(), ": is there already; choose another folder");
    fs::create_directories(folder);
    write_safetensors(folder / "model.safetensors", exported.tensors, {{"format", "pt"}});
    write_file(folder / "config.json", config.dump(2) + "\n");
  } catch (const Error& error) {
    fail(file.where, ": ", error.what());
  }
  // A decoder there ignores truncation; a bias there is as long as a chunk.
  if (description.block.causal) description.changed.emplace_back("model.block.ema.truncation");
  if (description.block.chunk > 0) description.changed.emplace_back("model.block.max_positions");
  try {
    check_same_options(file.options, import_checkpoint({folder, ""}).options, file.where,
                       description.changed);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    throw;
  }
}

}  // namespace mega
