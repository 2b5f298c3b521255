// One layer of a Transformer, as the classifiers and the language models have it.
#pragma once

#include "mega/baselines/multi_head_attention.h"
#include "mega/config/layer_options.h"
#include "mega/nn/state.h"
#include "mega/ops/attention.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

struct TransformerLayerOptions {
  // From the options of a model.
  template <class Model>
  explicit TransformerLayerOptions(const Model& model)
      : width(model.width),
        hidden(model.hidden),
        heads(model.heads),
        activation(model.activation),
        dropout(model.dropout),
        attention_dropout(model.attention_dropout),
        activation_dropout(model.activation_dropout) {}

  int64_t width, hidden, heads;
  Activation activation;
  double dropout, attention_dropout, activation_dropout;
  bool causal = false;
  bool prenorm = false;  // the norm is of a sublayer's input, not of its output's sum with it
};

// Attention, then feed-forward, each added to its input, each with a layer norm.
class TransformerLayerImpl : public torch::nn::Module {
 public:
  explicit TransformerLayerImpl(const TransformerLayerOptions& options);

  // x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D); bias and state are the
  // attention's.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask, const ops::RelativeBias& bias = {},
                        nn::BlockState* state = nullptr);

 private:
  TransformerLayerOptions options_;
  MultiHeadAttention self_attn_;
  torch::nn::LayerNorm self_attn_layer_norm_, final_layer_norm_;
  torch::nn::Linear fc1_, fc2_;
};
TORCH_MODULE(TransformerLayer);

torch::nn::LayerNorm layer_norm(int64_t width);

// As BERT: weights of linear layers are normal with this deviation, biases zero.
inline constexpr double kInitialDeviation = 0.02;

// Gives initial values to all linear layers and layer norms inside a module.
void reset_layers(torch::nn::Module& module);

}  // namespace mega::baselines
