#include "mega/infer/models/classifier.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/kernels/gates.h"

namespace mega::infer {
namespace {

using kernels::ConstRows;
using kernels::Rows;

// Pools features (length, D) to one vector.
void pool(ConstRows features, int64_t length, int64_t width, Pooling pooling, float* out) {
  if (pooling == Pooling::cls) {
    std::copy_n(features[0], width, out);
    return;
  }
  std::vector<double> sums(static_cast<size_t>(width));
  for (int64_t row = 0; row < length; ++row)
    for (size_t c = 0; c < sums.size(); ++c) sums[c] += static_cast<double>(features[row][c]);
  for (size_t c = 0; c < sums.size(); ++c) out[c] = static_cast<float>(sums[c] / static_cast<double>(length));
}

}  // namespace

std::shared_ptr<const Classifier> Classifier::open(const std::filesystem::path& path) {
  return std::make_shared<const Classifier>(ModelFile::open(path), path.string());
}

Classifier::Classifier(ModelFile file, const std::string& where)
    : file_(std::move(file)), weights_(file_.tensors, where) {
  const auto* options = dynamic_cast<const EncoderClassifierOptions*>(&file_.options.kind());
  require(options != nullptr, where, " is not a Mega classifier but a model of kind ",
          file_.options.kind_name());
  options_ = *options;
  try {
    check_surplus(file_.options, file_.tensors);
  } catch (const Error& error) {
    fail(where, ": ", error.what());
  }
  documents_ = options->document_count();
  if (has_signature(file_.tensors)) {
    signature_ = read_signature(file_.tensors, where);
    try {
      auto tokenizer = check_signature(signature_, options_);
      encoder_.emplace(signature_, cls_token(options_), std::move(tokenizer));
    } catch (const Error& error) {
      fail(where, ": ", error.what());
    }
  }
  const BlockOptions& block = options_.block;
  const std::string encoder = "encoder.encoder";
  embedding_.emplace(weights_, encoder + ".embed_tokens", options_, block.width);
  stack_.emplace(weights_, encoder, options_.stack());
  hidden_ = Linear(weights_, "classifier.0.0", options_.head, documents_ * block.width);
  output_ = Linear(weights_.matrix("sentence_projection_layer.weight", options_.classes, options_.head));
}

const data::Encoder& Classifier::encoder() const {
  require(encoder_.has_value(),
          "the model file has no description of its input encoding: it was not written by `mega train`");
  return *encoder_;
}

std::vector<float> Classifier::outputs(std::span<const SequenceView> documents, const Run& run) const {
  require(std::ssize(documents) == documents_, "this model reads ",
          documents_ == 1 ? "one document" : "two documents", ", not ", documents.size());
  const int64_t width = options_.block.width;
  std::vector<float> representation(static_cast<size_t>(documents_ * width));
  for (int64_t i = 0; i < documents_; ++i) {
    const SequenceView& document = documents[static_cast<size_t>(i)];
    const Rows features = read(document, {nullptr, 0, document.length}, run);
    // The second document comes first, as released.
    pool({features.data, features.stride}, document.length, width, options_.pooling,
         representation.data() + (documents_ - 1 - i) * width);
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
  kernels::activate(Activation::gelu, {}, {hidden.data, head}, hidden, 0, 1, head);
  std::vector<float> outputs(static_cast<size_t>(options_.classes));
  multiply(output_, {hidden.data, head}, {outputs.data(), options_.classes}, 1, run);
  return outputs;
}

}  // namespace mega::infer
