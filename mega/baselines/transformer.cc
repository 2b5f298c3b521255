#include "mega/baselines/transformer.h"

#include <cmath>

#include "mega/models/padding.h"
#include "mega/ops/dropout.h"
#include "mega/ops/watch.h"

namespace mega::baselines {

using torch::Tensor;

TransformerEncoderImpl::TransformerEncoderImpl(const TransformerOptions& options)
    : options_(options), embedding_(options, options.width, kInitialDeviation), positions_(options.width) {
  register_module("embed_tokens", embedding_);
  if (options.normalize_embedding)
    embedding_norm_ = register_module("emb_layer_norm", layer_norm(options.width));
  torch::nn::ModuleList layers;
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(TransformerLayerOptions(options));
    layers->push_back(layers_.back());
  }
  register_module("layers", layers);
  reset_parameters();
}

void TransformerEncoderImpl::reset_parameters() {
  embedding_->reset_parameters();
  reset_layers(*this);
}

Tensor TransformerEncoderImpl::forward(const models::Sequences& batch) {
  const models::Padding padding(batch, options_.channels);
  Tensor x = embedding_->forward(batch.values);
  if (options_.input == InputKind::tokens) x = x * std::sqrt(static_cast<double>(options_.width));
  x = x + positions_.rows(0, x.size(1), x.options());
  if (embedding_norm_) x = embedding_norm_->forward(x);
  x = padding.zero(ops::dropout(x, ops::draw_dropout(options_.dropout, is_training())));
  ops::watch("embed_tokens", x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = layers_[i]->forward(x, padding.mask());
    ops::watch("layers." + std::to_string(i), x);
  }
  return padding.pool(x, options_.pooling);
}

TransformerImpl::TransformerImpl(const TransformerOptions& options)
    : SequenceClassifier(options, options.documents, options.width, options.dropout), encoder_(options) {
  register_encoder(encoder_.ptr());
}

}  // namespace mega::baselines
