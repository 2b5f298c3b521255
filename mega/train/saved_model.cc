#include "mega/train/saved_model.h"

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/baselines/factory.h"
#include "mega/infer/weight_file.h"

namespace mega::train {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

// What a model of these options has at least beside the weights of its products: embedding and head of a
// classifier, as many numbers as tokens in a language model, whose rare ones may be narrow, and position
// biases.
struct FewestOthers {
  double operator()(const ClassifierOptions& o) const { return encoder(o); }
  double operator()(const MatcherOptions& o) const { return encoder(o); }
  double operator()(const TransformerOptions& o) const { return ends(o, o.width); }
  double operator()(const LanguageModelOptions& o) const {
    return real(o.vocabulary) + positions(o.block, o.layers);
  }
  double operator()(const TransformerLanguageOptions& o) const { return real(o.vocabulary); }
  template <class Other>
  double operator()(const Other&) const {
    return 0.0;
  }

  static double encoder(const EncoderClassifierOptions& o) {
    return ends(o, o.block.width) + positions(o.block, o.layers);
  }
  static double ends(const SequenceOptions& o, int64_t width) {
    const double embedding = real(width) * real(o.input == InputKind::tokens ? o.vocabulary : 1);
    return embedding + real(o.head) * real(width + o.classes);
  }
  static double positions(const BlockOptions& block, int64_t layers) {
    if (block.position != PositionKind::simple) return 0.0;
    return real(layers) * real(block.chunk > 0 ? block.chunk : block.max_positions);
  }
};

double fewest_weights(const ModelOptions& options) {
  return baselines::multiply_adds(options, 1) + std::visit(FewestOthers(), options.model);
}

// Options are easily written, weights are not: a few bytes of options must not ask for a terabyte.
void require_filled(const ModelOptions& options, const Safetensors& file) {
  double elements = 0.0;
  for (const TensorView& tensor : file.tensors()) elements += real(tensor.elements());
  require(fewest_weights(options) <= elements, "its options describe a model of more weights than the ",
          elements, " in the file");
}

// Another chunk than that of training.
void set_chunk(ModelOptions& options, int64_t chunk) {
  auto* mega = std::get_if<LanguageModelOptions>(&options.model);
  require(mega != nullptr, "only a Mega model attends in chunks");
  require(mega->block.position != PositionKind::simple || chunk == mega->block.chunk,
          "position = simple has a bias for each place of a chunk of ", mega->block.chunk,
          " and no other; rotary positions take any chunk");
  mega->block.chunk = chunk;
}

// The numbers of a weight; of one that `mega quantize` made I8, those that it stands for. Undefined where the
// file has none of this shape.
torch::Tensor find_weight(const Safetensors& file, const std::string& name, torch::IntArrayRef shape) {
  const TensorView* view = file.find(name);
  if (view == nullptr || view->shape != shape.vec()) return {};
  const torch::Tensor weight = ops::to_tensor(*view);
  if (view->dtype != DType::I8) return weight;
  const TensorView& scales = file.at(infer::scale_name(name));
  require(shape.size() == 2 && scales.dtype == DType::F32 && scales.shape == std::vector<int64_t>{shape[0]},
          scales.name, ": expected a scale of F32 for each row of a matrix");
  return weight * ops::to_tensor(scales).unsqueeze(1);
}

}  // namespace

SavedModel load_model(const std::filesystem::path& path) {
  const ModelFile file = ModelFile::open(path);
  SavedModel saved;
  saved.options = file.options;
  saved.signature = read_signature(file.tensors, path.string());
  try {
    require(sequence_options(saved.options) != nullptr, "not a model of whole sequences");
    check_signature(saved.signature, *sequence_options(saved.options));
    require_filled(saved.options, file.tensors);
    saved.model = baselines::make_sequence_model(saved.options);
    load_weights(*saved.model, file.tensors);
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
    if (chunk > 0) set_chunk(saved.options, chunk);
    require_filled(saved.options, file.tensors);
    saved.model = baselines::make_token_model(saved.options);
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
    const torch::Tensor found = find_weight(file, name, weight.sizes());
    if (found.defined())
      torch::Tensor(weight).copy_(found);
    else
      missing.push_back(name);
  }
  return missing;
}

}  // namespace mega::train
