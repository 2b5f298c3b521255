#include "mega/models/sequence_classifier.h"

#include "mega/base/error.h"
#include "mega/ops/activation.h"
#include "mega/ops/dropout.h"
#include "mega/ops/watch.h"

namespace mega::models {

using torch::Tensor;

SequenceClassifier::SequenceClassifier(const SequenceOptions& options, int64_t documents, int64_t width,
                                       double dropout)
    : documents_(static_cast<size_t>(documents)), dropout_(dropout) {
  hidden_ = torch::nn::Linear(documents * width, options.head);
  torch::nn::ModuleList layer, classifier;
  layer->push_back(hidden_);
  classifier->push_back(layer);
  register_module("classifier", classifier);
  output_ =
      register_module("sentence_projection_layer",
                      torch::nn::Linear(torch::nn::LinearOptions(options.head, options.classes).bias(false)));
  torch::nn::init::xavier_uniform_(hidden_->weight);
  torch::nn::init::zeros_(hidden_->bias);
  torch::nn::init::xavier_uniform_(output_->weight);
}

void SequenceClassifier::register_encoder(const std::shared_ptr<torch::nn::Module>& encoder) {
  auto holder = std::make_shared<torch::nn::Module>();
  holder->register_module("encoder", encoder);
  register_module("encoder", holder);
}

Tensor SequenceClassifier::predict(const std::vector<Sequences>& documents) {
  require(documents.size() == documents_, "this model reads ",
          documents_ == 1 ? "one document" : "two documents", ", not ", documents.size());
  if (documents_ == 1) return classify(encode(documents[0]));
  const Tensor first = encode(documents[0]), second = encode(documents[1]);
  require(first.size(0) == second.size(0), "documents come in pairs: ", first.size(0), " first documents, ",
          second.size(0), " second ones");
  return classify(torch::cat({second, first}, 1));  // the second document comes first, as released
}

Tensor SequenceClassifier::classify(const Tensor& representation) {
  const Tensor hidden =
      ops::dropout(hidden_->forward(representation), ops::draw_dropout(dropout_, is_training()));
  const Tensor said = output_->forward(ops::activate(hidden, Activation::gelu));
  ops::watch("classifier", said);
  return said;
}

}  // namespace mega::models
