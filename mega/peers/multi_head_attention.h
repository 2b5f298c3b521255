// Self-attention over several heads (Vaswani et al. 2017).
#pragma once

#include "mega/ops/torch.h"

namespace mega::peers {

class MultiHeadAttentionImpl : public torch::nn::Module {
 public:
  // Dropout is that of the weights. `heads` divides the width.
  MultiHeadAttentionImpl(int64_t width, int64_t heads, double dropout);

  // x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D)
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask);

  torch::nn::Linear q_proj{nullptr}, k_proj{nullptr}, v_proj{nullptr}, out_proj{nullptr};

 private:
  int64_t heads_;
  double dropout_;
};
TORCH_MODULE(MultiHeadAttention);

}  // namespace mega::peers
