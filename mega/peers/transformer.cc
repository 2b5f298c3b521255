#include "mega/peers/transformer.h"

#include <cmath>

#include "mega/models/padding.h"
#include "mega/ops/check.h"
#include "mega/ops/dropout.h"
#include "mega/ops/linear.h"
#include "mega/ops/watch.h"

namespace mega::peers {
namespace {

using torch::Tensor;

constexpr double kInitialDeviation = 0.02;

torch::nn::LayerNorm layer_norm(int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

}  // namespace

TransformerLayerImpl::TransformerLayerImpl(const TransformerOptions& options)
    : options_(options),
      self_attn_(options.width, options.heads, options.attention_dropout),
      self_attn_layer_norm_(layer_norm(options.width)),
      final_layer_norm_(layer_norm(options.width)),
      fc1_(options.width, options.hidden),
      fc2_(options.hidden, options.width) {
  register_module("self_attn", self_attn_);
  register_module("self_attn_layer_norm", self_attn_layer_norm_);
  register_module("fc1", fc1_);
  register_module("fc2", fc2_);
  register_module("final_layer_norm", final_layer_norm_);
}

Tensor TransformerLayerImpl::forward(const Tensor& x, const Tensor& mask) {
  ops::check_sequence("transformer layer", x, options_.width, fc1_->weight);
  const auto residual = [&](const Tensor& input, const Tensor& output) {
    return input + ops::dropout(output, ops::draw_dropout(options_.dropout, is_training()));
  };
  const Tensor y = self_attn_layer_norm_->forward(residual(x, self_attn_->forward(x, mask)));
  const auto inside = ops::draw_dropout(options_.activation_dropout, is_training());
  const Tensor hidden = ops::linear(y, fc1_->weight, fc1_->bias);
  return final_layer_norm_->forward(
      residual(y, ops::activated_linear(hidden, options_.activation, inside, fc2_->weight, fc2_->bias)));
}

TransformerEncoderImpl::TransformerEncoderImpl(const TransformerOptions& options)
    : options_(options), embedding_(options, options.width, kInitialDeviation), positions_(options.width) {
  register_module("embed_tokens", embedding_);
  if (options.normalize_embedding)
    embedding_norm_ = register_module("emb_layer_norm", layer_norm(options.width));
  torch::nn::ModuleList layers;
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(options);
    layers->push_back(layers_.back());
  }
  register_module("layers", layers);
  reset_parameters();
}

void TransformerEncoderImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  embedding_->reset_parameters();
  for (const auto& module : modules(/*include_self=*/false)) {
    if (auto* linear = module->as<torch::nn::Linear>()) {
      linear->weight.normal_(0.0, kInitialDeviation);
      linear->bias.zero_();
    } else if (auto* norm = module->as<torch::nn::LayerNorm>()) {
      norm->reset_parameters();
    }
  }
}

Tensor TransformerEncoderImpl::forward(const models::Sequences& batch) {
  const models::Padding padding(batch, options_.channels);
  Tensor x = embedding_->forward(batch.values);
  if (options_.input == InputKind::tokens) x = x * std::sqrt(static_cast<double>(options_.width));
  x = x + positions_.rows(x.size(1), x.options());
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

}  // namespace mega::peers
