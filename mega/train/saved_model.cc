#include "mega/train/saved_model.h"

#include "mega/base/error.h"
#include "mega/base/text.h"
#include "mega/peers/factory.h"

namespace mega::train {

SavedModel load_model(const std::filesystem::path& path) {
  const ModelFile file = ModelFile::open(path);
  SavedModel saved;
  saved.options = file.options;
  saved.signature = read_signature(file.tensors, path.string());
  const SequenceOptions* shared = sequence_options(file.options);
  require(shared != nullptr, path.string(), ": not a model of whole sequences");
  const auto outputs = static_cast<size_t>(shared->classes);
  const bool classifies = shared->objective == Objective::classification;
  require(
      classifies ? saved.signature.classes.size() == outputs : saved.signature.target_mean.size() == outputs,
      path.string(), ": the model has ", outputs,
      " outputs, and its signature describes another number of them");
  saved.model = peers::make_sequence_model(file.options);
  try {
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
  const std::vector<std::string> missing = load_matching_weights(model, file);
  require(missing.empty(), missing.size(),
          " weights are missing or have another shape: ", missing.empty() ? "" : missing.front(),
          missing.size() > 1 ? ", ..." : "");
}

std::vector<std::string> load_matching_weights(torch::nn::Module& model, const Safetensors& file) {
  const torch::NoGradGuard guard;
  std::vector<std::string> missing;
  for (auto& [name, weight] : weights_of(model)) {
    const TensorView* view = file.find(name);
    if (view == nullptr || view->shape != weight.sizes().vec()) {
      missing.push_back(name);
      continue;
    }
    torch::Tensor(weight).copy_(ops::to_tensor(*view));
  }
  return missing;
}

}  // namespace mega::train
