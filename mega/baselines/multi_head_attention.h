// Multi-head self-attention (Vaswani et al. 2017).
#pragma once

#include "mega/nn/state.h"
#include "mega/ops/attention.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

class MultiHeadAttentionImpl : public torch::nn::Module {
 public:
  // `heads` must divide `width`. Causal: a position sees itself and earlier ones. `dropout` applies to the
  // attention weights.
  MultiHeadAttentionImpl(int64_t width, int64_t heads, bool causal, double dropout);

  // x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D). With a state, x continues
  // the sequences whose keys and values it holds; the bias must cover them from their start.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask, const ops::RelativeBias& bias = {},
                        nn::GatedAttentionState* state = nullptr);

  torch::nn::Linear q_proj{nullptr}, k_proj{nullptr}, v_proj{nullptr}, out_proj{nullptr};

 private:
  // Throws unless the state fits this layer and the batch size.
  void check_state(const nn::GatedAttentionState& state, int64_t batch) const;

  int64_t width_, heads_;
  bool causal_;
  double dropout_;
};
TORCH_MODULE(MultiHeadAttention);

}  // namespace mega::baselines
