#include "mega/models/encoder_model.h"

#include <utility>

#include "mega/base/error.h"
#include "mega/ops/activation.h"
#include "mega/ops/dropout.h"
#include "mega/ops/watch.h"

namespace mega::models {

using torch::Tensor;

EncoderModel::EncoderModel(const SequenceOptions& options, int64_t documents, int64_t width, double dropout)
    : documents_(static_cast<size_t>(documents)),
      channels_(options.channels),
      pooling_(options.pooling),
      activation_(options.head_activation),
      dropout_(dropout) {
  const int64_t inputs = documents * width;
  if (options.head > 0) {
    hidden_ = torch::nn::Linear(inputs, options.head);
    torch::nn::ModuleList layer, classifier;
    layer->push_back(hidden_);
    classifier->push_back(layer);
    register_module("classifier", classifier);
    torch::nn::init::xavier_uniform_(hidden_->weight);
    torch::nn::init::zeros_(hidden_->bias);
  }
  const bool has_bias = !hidden_ || options.head_bias;
  output_ = register_module(
      "sentence_projection_layer",
      torch::nn::Linear(
          torch::nn::LinearOptions(hidden_ ? options.head : inputs, options.classes).bias(has_bias)));
  torch::nn::init::xavier_uniform_(output_->weight);
  if (has_bias) torch::nn::init::zeros_(output_->bias);

  auto holder = std::make_shared<torch::nn::Module>();
  encoder_ = holder->register_module("encoder", std::make_shared<torch::nn::Module>());
  register_module("encoder", holder);
}

void EncoderModel::set_encoder(InputEmbedding embedding, std::unique_ptr<nn::Stack> stack, double scale) {
  embedding_ = std::move(embedding);
  stack_ = std::move(stack);
  scale_ = scale;
}

Tensor EncoderModel::encode(const Sequences& document) {
  const Padding padding(document, channels_);
  Tensor x = embedding_->forward(document.values);
  if (scale_ != 1.0) x = x * scale_;
  return pool(stack_->forward(x, padding.mask()), padding);
}

Tensor EncoderModel::pool(const Tensor& x, const Padding& padding) const { return padding.pool(x, pooling_); }

Tensor EncoderModel::predict(const std::vector<Sequences>& documents) {
  require(documents.size() == documents_, "this model reads ",
          documents_ == 1 ? "one document" : "two documents", ", not ", documents.size());
  if (documents_ == 1) return classify(encode(documents[0]));
  const Tensor first = encode(documents[0]), second = encode(documents[1]);
  require(first.size(0) == second.size(0), "documents come in pairs: ", first.size(0), " first documents, ",
          second.size(0), " second ones");
  return classify(torch::cat({second, first}, 1));  // second document first, as released
}

Tensor EncoderModel::classify(const Tensor& representation) {
  Tensor outputs = representation;
  if (hidden_) {
    const Tensor hidden =
        ops::dropout(hidden_->forward(representation), ops::draw_dropout(dropout_, is_training()));
    outputs =
        activation_ == HeadActivation::tanh ? torch::tanh(hidden) : ops::activate(hidden, Activation::gelu);
  }
  outputs = output_->forward(outputs);
  ops::watch("classifier", outputs);
  return outputs;
}

}  // namespace mega::models
