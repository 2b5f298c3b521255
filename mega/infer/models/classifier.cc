#include "mega/infer/models/classifier.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/infer/layers/pooling.h"
#include "mega/infer/layers/tanh.h"
#include "mega/kernels/gates.h"

namespace mega::infer {
namespace {

using kernels::ConstRows;
using kernels::Rows;

// Pools features (length, D) to one vector.
void pool(ConstRows features, int64_t length, int64_t width, Pooling pooling, float* out) {
  if (pooling == Pooling::mean) return mean_of_rows(features, length, width, out);
  std::copy_n(features[0], width, out);
}

}  // namespace

std::shared_ptr<const Classifier> Classifier::open(const std::filesystem::path& path) {
  return std::make_shared<const Classifier>(ModelFile::open(path), path.string());
}

Classifier::Classifier(ModelFile file, const std::string& where) : SequenceModel(std::move(file), where) {
  const auto* options = dynamic_cast<const EncoderClassifierOptions*>(&file_.options.kind());
  require(options != nullptr, where, " does not classify sequences: it is a model of kind ",
          file_.options.kind_name());
  options_ = *options;
  const BlockOptions& block = options_.block;
  const std::string encoder = "encoder.encoder";
  embedding_.emplace(weights_, encoder + ".embed_tokens", options_, block.width);
  stack_.emplace(weights_, encoder, options_.stack());
  hidden_ = Linear(weights_, "classifier.0.0", options_.head, documents() * block.width);
  output_ = Linear(weights_.matrix("sentence_projection_layer.weight", options_.classes, options_.head));
  if (options_.head_bias)
    output_.bias = weights_.numbers("sentence_projection_layer.bias", options_.classes).data();
}

std::vector<float> Classifier::outputs(std::span<const SequenceView> documents, const Run& run) const {
  check_documents(documents);
  const int64_t width = options_.block.width, count = std::ssize(documents);
  std::vector<float> representation(static_cast<size_t>(count * width));
  for (int64_t i = 0; i < count; ++i) {
    const SequenceView& document = documents[static_cast<size_t>(i)];
    const Rows features = read(document, {nullptr, 0, document.length}, run);
    // The second document comes first, as released.
    pool({features.data, features.stride}, document.length, width, options_.pooling,
         representation.data() + (count - 1 - i) * width);
  }
  return classify(representation, run);
}

Rows Classifier::read(const SequenceView& positions, const Segment& segment, const Run& run) const {
  require(positions.length > 0, "an empty sequence cannot be classified");
  const int64_t width = options_.block.width;
  const Rows x{run.work.floats(Workspace::kInput, positions.length * width), width};
  embedding_->forward(positions, x, run);
  stack_->forward(x, positions.length, {&segment, 1}, run);
  return x;
}

std::vector<float> Classifier::classify(std::span<const float> representation, const Run& run) const {
  const int64_t head = options_.head;
  const Rows hidden{run.work.floats(Workspace::kHidden, head), head};
  multiply(hidden_, {representation.data(), std::ssize(representation)}, hidden, 1, run);
  if (options_.head_activation == HeadActivation::tanh)
    apply_tanh(hidden, 1, head, run);
  else
    kernels::activate(Activation::gelu, {}, {hidden.data, head}, hidden, 0, 1, head);
  std::vector<float> outputs(static_cast<size_t>(options_.classes));
  multiply(output_, {hidden.data, head}, {outputs.data(), options_.classes}, 1, run);
  return outputs;
}

}  // namespace mega::infer
