// One Transformer layer, shared by classifiers, language models and translators.
#pragma once

#include "mega/baselines/multi_head_attention.h"
#include "mega/config/models/layer_options.h"
#include "mega/nn/stack.h"
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
  bool cross_attention = false;  // a decoder's, to a source
  bool prenorm = false;          // normalise the input of each sublayer instead of the residual sum after it
};

// Attention, in a decoder also to a source, then feed-forward, each with a residual connection and a layer
// norm.
class TransformerLayerImpl : public torch::nn::Module {
 public:
  explicit TransformerLayerImpl(const TransformerLayerOptions& options);

  // x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D); bias, state and source are
  // passed to the attention.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask, const ops::RelativeBias& bias = {},
                        nn::BlockState* state = nullptr, const nn::Source& source = {});

 private:
  TransformerLayerOptions options_;
  MultiHeadAttention self_attn_, encoder_attn_{nullptr};  // the second is empty unless cross_attention
  torch::nn::LayerNorm self_attn_layer_norm_, encoder_attn_layer_norm_{nullptr}, final_layer_norm_;
  torch::nn::Linear fc1_, fc2_;
};
TORCH_MODULE(TransformerLayer);

torch::nn::LayerNorm layer_norm(int64_t width);

// As in BERT: weights of linear layers are normal with this standard deviation, biases zero.
inline constexpr double kInitialDeviation = 0.02;

// Initialises all linear layers and layer norms inside a module.
void reset_layers(torch::nn::Module& module);

// The same as in fairseq's translation: uniform after Glorot, of the projections to queries, keys and values
// by 1/sqrt(2).
void reset_layers_uniformly(torch::nn::Module& module);

}  // namespace mega::baselines
