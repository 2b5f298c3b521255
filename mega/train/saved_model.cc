#include "mega/train/saved_model.h"

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/config/models/image_positions.h"

namespace mega::train {
namespace {

// The weight as floats; I8 weights of `mega quantize` are dequantised. An undefined tensor if the file has
// none of this shape.
torch::Tensor find_weight(const Safetensors& file, const std::string& name, torch::IntArrayRef shape) {
  const TensorView* view = file.find(name);
  if (view == nullptr || view->shape != shape.vec()) return {};
  const torch::Tensor weight = ops::to_tensor(*view);
  if (view->dtype != DType::I8) return weight;
  const TensorView& scales = file.at(scale_name(name));
  require(shape.size() == 2 && scales.dtype == DType::F32 && scales.shape == std::vector<int64_t>{shape[0]},
          scales.name, ": expected one F32 scale for each row of a matrix");
  return weight * ops::to_tensor(scales).unsqueeze(1);
}

void require_all(const std::vector<std::string>& missing) {
  require(missing.empty(), missing.size(),
          " weights are missing or have another shape: ", missing.empty() ? "" : missing.front(),
          missing.size() > 1 ? ", ..." : "");
}

}  // namespace

SavedModel load_model(const std::filesystem::path& path, std::optional<PictureSize> size) {
  const ModelFile file = ModelFile::open(path);
  SavedModel saved;
  saved.options = file.options;
  saved.signature = read_signature(file.tensors, path.string());
  try {
    require(predictor_options(saved.options) != nullptr, "not a classifier or matcher");
    check_signature(saved.signature, *predictor_options(saved.options));
    check_tensors(saved.options, file.tensors);
    if (size) set_picture_size(saved.options, saved.signature.input, *size);
    saved.model = baselines::make_sequence_model(saved.options);
    require_all(load_matching_weights(*saved.model, file, saved.options));
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
  return saved;
}

SavedLanguageModel load_language_model(const std::filesystem::path& path, int64_t chunk) {
  const ModelFile file = ModelFile::open(path);
  SavedLanguageModel saved;
  saved.options = file.options;
  saved.signature = read_signature(file.tensors, path.string());
  try {
    const TokenOptions* tokens = token_options(saved.options);
    require(tokens != nullptr && std::holds_alternative<LanguageInput>(saved.signature.input.input),
            "not a language model");
    saved.tokenizer = make_tokenizer(saved.signature, tokens->vocabulary);
    if (chunk > 0) saved.options.kind().set_chunk(chunk);
    check_tensors(saved.options, file.tensors);
    saved.model = baselines::make_token_model(saved.options);
    load_weights(*saved.model, file.tensors);
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
  return saved;
}

SavedTranslationModel load_translation_model(const std::filesystem::path& path) {
  const ModelFile file = ModelFile::open(path);
  SavedTranslationModel saved;
  saved.options = file.options;
  saved.signature = read_signature(file.tensors, path.string());
  try {
    const TranslationOptions* translation = translation_options(saved.options);
    require(translation != nullptr, "not a translator");
    saved.tokenizers = make_tokenizers(saved.signature, translation->source_types(), translation->vocabulary);
    check_tensors(saved.options, file.tensors);
    saved.model = baselines::make_translation_model(saved.options);
    load_weights(*saved.model, file.tensors);
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
  return saved;
}

void save_model(const std::filesystem::path& path, const ModelOptions& options, const Signature& signature,
                const ops::NamedTensors& weights, const Metadata& extra) {
  const ops::TensorViews views(weights);
  std::vector<TensorView> tensors = views.views();
  for (TensorView& view : signature_tensors(signature)) tensors.push_back(std::move(view));
  Metadata metadata = signature_metadata(signature);
  metadata.insert(extra.begin(), extra.end());
  write_model_file(path, options, std::move(tensors), metadata);
}

ops::NamedTensors weights_of(const torch::nn::Module& model) {
  ops::NamedTensors weights;
  for (const auto& item : model.named_parameters()) weights.emplace_back(item.key(), item.value());
  for (const auto& item : model.named_buffers()) weights.emplace_back(item.key(), item.value());
  return weights;
}

void load_weights(torch::nn::Module& model, const Safetensors& file) {
  require_all(load_matching_weights(model, file));
}

std::vector<std::string> load_matching_weights(torch::nn::Module& model, const Safetensors& file) {
  const torch::NoGradGuard guard;
  std::vector<std::string> missing;
  for (auto& [name, weight] : weights_of(model)) {
    const torch::Tensor found = find_weight(file, name, weight.sizes());
    if (found.defined())
      torch::Tensor(weight).copy_(found);
    else
      missing.push_back(name);
  }
  return missing;
}

std::vector<std::string> load_matching_weights(torch::nn::Module& model, const ModelFile& file,
                                               const ModelOptions& options) {
  const torch::NoGradGuard guard;
  std::vector<std::string> missing = load_matching_weights(model, file.tensors);
  const ImageOptions *from = image_options(file.options), *to = image_options(options);
  if (from == nullptr || to == nullptr || from->patch_grid() == to->patch_grid()) return missing;
  for (auto& [name, weight] : weights_of(model)) {
    const TensorView* view = file.tensors.find(name);
    if (view == nullptr) continue;
    const torch::Tensor stored = ops::to_tensor(*view).to(torch::kFloat32).contiguous();
    const auto resized =
        resized_positions(*from, *to, name, {stored.data_ptr<float>(), static_cast<size_t>(stored.numel())});
    if (!resized || std::ssize(*resized) != weight.numel()) continue;
    torch::Tensor(weight).copy_(torch::tensor(*resized).view_as(weight));
    std::erase(missing, name);
  }
  return missing;
}

}  // namespace mega::train
