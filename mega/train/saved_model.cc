#include "mega/train/saved_model.h"

#include "mega/base/error.h"
#include "mega/base/text.h"
#include "mega/config/tokens.h"
#include "mega/peers/factory.h"

namespace mega::train {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

// A model of these options has at least as many weights: the products of its layers, the embedding, the head,
// the position biases.
double fewest_weights(const ModelOptions& options) {
  const SequenceOptions& shared = *sequence_options(options);
  double width = 0.0, positions = 0.0;
  if (const auto* transformer = std::get_if<TransformerOptions>(&options.model)) {
    width = real(transformer->width);
  } else {
    const BlockOptions& block = std::holds_alternative<MatcherOptions>(options.model)
                                    ? std::get<MatcherOptions>(options.model).block
                                    : std::get<ClassifierOptions>(options.model).block;
    width = real(block.width);
    if (block.position == PositionKind::simple)
      positions = real(shared.layers) * real(block.chunk > 0 ? block.chunk : block.max_positions);
  }
  const double embedding = width * real(shared.input == InputKind::tokens ? shared.vocabulary : 1);
  const double head = real(shared.head) * (width + real(shared.classes));
  return peers::multiply_adds(options, 1) + embedding + head + positions;
}

// Options are easily written, weights are not: a few bytes of options must not ask for a terabyte.
void require_filled(const ModelOptions& options, const Safetensors& file) {
  double elements = 0.0;
  for (const TensorView& tensor : file.tensors()) elements += real(tensor.elements());
  require(fewest_weights(options) <= elements, "its options describe a model of more weights than the ",
          elements, " in the file");
}

void require_consistent(const SequenceOptions& options, const Signature& signature) {
  require_fitting(options, signature.input);
  const bool regression = options.objective == Objective::regression;
  const size_t outputs = regression ? signature.target_mean.size() : signature.classes.size();
  require(static_cast<int64_t>(outputs) == options.classes && signature.classes.empty() == regression,
          "the model has ", options.classes, " outputs, and the file has ",
          regression ? "mean and deviation of " : "names for ", outputs);
}

}  // namespace

void require_fitting(const SequenceOptions& options, const InputOptions& input) {
  const auto* text = std::get_if<TextInput>(&input.input);
  require((text != nullptr) == (options.input == InputKind::tokens),
          "model.input = ", to_string(options.input),
          " does not fit input.kind: tokens come from texts, real numbers from all else");
  if (text != nullptr)
    require(options.vocabulary > token_types(text->units), "model.vocabulary = ", options.vocabulary,
            " is too small: input.units = ", to_string(text->units), " needs more than ",
            token_types(text->units));
  const auto* series = std::get_if<SeriesInput>(&input.input);
  if (options.input != InputKind::tokens)
    require(options.channels == (series != nullptr ? series->channels : 1),
            "model.channels = ", options.channels, " does not fit the input, which has ",
            series != nullptr ? series->channels : 1);
}

SavedModel load_model(const std::filesystem::path& path) {
  const ModelFile file = ModelFile::open(path);
  SavedModel saved;
  saved.options = file.options;
  saved.signature = read_signature(file.tensors, path.string());
  try {
    require(sequence_options(saved.options) != nullptr, "not a model of whole sequences");
    require_consistent(*sequence_options(saved.options), saved.signature);
    require_filled(saved.options, file.tensors);
    saved.model = peers::make_sequence_model(saved.options);
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
