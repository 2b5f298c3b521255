// Multi-head attention (Vaswani et al. 2017): of a sequence to itself, or to a source.
#pragma once

#include "mega/nn/stack.h"
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

  // The same for the attention of x to a source (B, K, D) with its padding mask (B, K). With a state, only
  // the first call reads the source.
  torch::Tensor forward_cross(const torch::Tensor& x, const nn::Source& source,
                              nn::CrossAttentionState* state = nullptr);

  torch::nn::Linear q_proj{nullptr}, k_proj{nullptr}, v_proj{nullptr}, out_proj{nullptr};

 private:
  // Throws unless the state fits this layer and the batch size.
  void check_state(const nn::GatedAttentionState& state, int64_t batch) const;
  void check_state(const nn::CrossAttentionState& state, int64_t batch) const;

  torch::Tensor queries(const torch::Tensor& x);
  torch::Tensor keys(const torch::Tensor& x);
  torch::Tensor values(const torch::Tensor& x);
  torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                       const ops::RelativeBias& bias, const torch::Tensor& padding, bool causal,
                       int64_t first_position);

  int64_t width_, heads_;
  bool causal_;
  double dropout_;
};
TORCH_MODULE(MultiHeadAttention);

}  // namespace mega::baselines
