#include "mega/baselines/transformer_layer.h"

#include <cmath>

#include "mega/ops/check.h"
#include "mega/ops/dropout.h"
#include "mega/ops/linear.h"

namespace mega::baselines {

using torch::Tensor;

TransformerLayerImpl::TransformerLayerImpl(const TransformerLayerOptions& options)
    : options_(options),
      self_attn_(options.width, options.heads, options.causal, options.attention_dropout),
      self_attn_layer_norm_(layer_norm(options.width)),
      final_layer_norm_(layer_norm(options.width)),
      fc1_(options.width, options.hidden),
      fc2_(options.hidden, options.width) {
  register_module("self_attn", self_attn_);
  register_module("self_attn_layer_norm", self_attn_layer_norm_);
  if (options.cross_attention) {
    encoder_attn_ = register_module(
        "encoder_attn",
        MultiHeadAttention(options.width, options.heads, /*causal=*/false, options.attention_dropout));
    encoder_attn_layer_norm_ = register_module("encoder_attn_layer_norm", layer_norm(options.width));
  }
  register_module("fc1", fc1_);
  register_module("fc2", fc2_);
  register_module("final_layer_norm", final_layer_norm_);
}

Tensor TransformerLayerImpl::forward(const Tensor& x, const Tensor& mask, const ops::RelativeBias& bias,
                                     nn::BlockState* state, const nn::Source& source) {
  ops::check_sequence("transformer layer", x, options_.width, fc1_->weight);
  const auto sublayer = [&](torch::nn::LayerNorm& norm, const Tensor& input, const auto& change) {
    const Tensor output = change(options_.prenorm ? norm->forward(input) : input);
    const Tensor sum = input + ops::dropout(output, ops::draw_dropout(options_.dropout, is_training()));
    return options_.prenorm ? sum : norm->forward(sum);
  };
  Tensor y = sublayer(self_attn_layer_norm_, x, [&](const Tensor& input) {
    return self_attn_->forward(input, mask, bias, state == nullptr ? nullptr : &state->attention);
  });
  if (encoder_attn_)
    y = sublayer(encoder_attn_layer_norm_, y, [&](const Tensor& input) {
      return encoder_attn_->forward_cross(input, source, state == nullptr ? nullptr : &state->cross);
    });
  return sublayer(final_layer_norm_, y, [&](const Tensor& input) {
    const auto inside = ops::draw_dropout(options_.activation_dropout, is_training());
    const Tensor hidden = ops::linear(input, fc1_->weight, fc1_->bias);
    return ops::activated_linear(hidden, options_.activation, inside, fc2_->weight, fc2_->bias);
  });
}

torch::nn::LayerNorm layer_norm(int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

void reset_layers(torch::nn::Module& module) {
  const torch::NoGradGuard guard;
  for (const auto& part : module.modules(/*include_self=*/false)) {
    if (auto* linear = part->as<torch::nn::Linear>()) {
      linear->weight.normal_(0.0, kInitialDeviation);
      if (linear->bias.defined()) linear->bias.zero_();
    } else if (auto* norm = part->as<torch::nn::LayerNorm>()) {
      norm->reset_parameters();
    }
  }
}

void reset_layers_uniformly(torch::nn::Module& module) {
  reset_layers(module);
  const torch::NoGradGuard guard;
  for (const auto& part : module.modules(/*include_self=*/false)) {
    if (auto* linear = part->as<torch::nn::Linear>()) torch::nn::init::xavier_uniform_(linear->weight);
  }
  for (const auto& part : module.modules(/*include_self=*/false)) {
    if (auto* attention = part->as<MultiHeadAttention>())
      for (auto& projection : {attention->q_proj, attention->k_proj, attention->v_proj})
        projection->weight.mul_(std::sqrt(0.5));
  }
}

}  // namespace mega::baselines
