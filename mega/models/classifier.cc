#include "mega/models/classifier.h"

#include "mega/base/error.h"
#include "mega/ops/activation.h"
#include "mega/ops/dropout.h"

namespace mega::models {

using torch::Tensor;

EncoderClassifierImpl::EncoderClassifierImpl(const EncoderClassifierOptions& options, int64_t documents)
    : dropout_(options.block.dropout) {
  encoder_ = Encoder(options);
  auto holder = std::make_shared<torch::nn::Module>();
  holder->register_module("encoder", encoder_.ptr());
  register_module("encoder", holder);

  hidden_ = torch::nn::Linear(documents * options.block.width, options.head);
  torch::nn::ModuleList layer, classifier;
  layer->push_back(hidden_);
  classifier->push_back(layer);
  register_module("classifier", classifier);
  output_ =
      register_module("sentence_projection_layer",
                      torch::nn::Linear(torch::nn::LinearOptions(options.head, options.classes).bias(false)));
  reset_parameters();
}

void EncoderClassifierImpl::reset_parameters() {
  torch::nn::init::xavier_uniform_(hidden_->weight);
  torch::nn::init::zeros_(hidden_->bias);
  torch::nn::init::xavier_uniform_(output_->weight);
}

Tensor EncoderClassifierImpl::classify(const Tensor& representation) {
  const Tensor hidden =
      ops::dropout(hidden_->forward(representation), ops::draw_dropout(dropout_, is_training()));
  return output_->forward(ops::activate(hidden, Activation::gelu));
}

Tensor ClassifierImpl::forward(const Sequences& batch) { return classify(encoder_->forward(batch)); }

Tensor ClassifierImpl::predict(const std::vector<Sequences>& documents) {
  require(documents.size() == 1, "a classifier reads one document, not ", documents.size());
  return forward(documents[0]);
}

Tensor MatcherImpl::forward(const Sequences& first, const Sequences& second) {
  const Tensor one = encoder_->forward(first), other = encoder_->forward(second);
  require(one.size(0) == other.size(0), "a matcher needs pairs: ", one.size(0), " first documents, ",
          other.size(0), " second ones");
  return classify(torch::cat({other, one}, 1));  // the second document comes first, as released
}

Tensor MatcherImpl::predict(const std::vector<Sequences>& documents) {
  require(documents.size() == 2, "a matcher reads two documents, not ", documents.size());
  return forward(documents[0], documents[1]);
}

}  // namespace mega::models
