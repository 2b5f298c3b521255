// Linear attention: each query reads one sum over all keys instead of a score for every key.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

struct LinearAttentionSettings {
  int64_t heads = 1;    // H; the columns of q, k and v are grouped by head
  bool causal = false;  // a query's sum ends with its own position
  bool relu = false;    // features are relu(x) + 1e-3 of q and k; otherwise q and k are features themselves
};

// f(q) . (sum_j f(k_j) v_j^T) / (f(q) . sum_j f(k_j)), for positive features f. q and k (B, L, H M), v (B, L,
// H V), mask (B, L) bool with true = padding, or undefined -> (B, L, H V). The fused form, where nothing is
// causal, saves q, k and v and makes the features again in the backward pass.
torch::Tensor linear_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const torch::Tensor& mask, const LinearAttentionSettings& settings);

// sum_{s <= t} (q_t . k_s) v_s for each position t: q and k (N, L, M), v (N, L, V) -> (N, L, V), in time
// linear in L.
torch::Tensor causal_products(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v);

// The sums over the chunks before each one: x (N, K, R, S) with K chunks -> the same shape, zero for the
// first.
torch::Tensor sums_before(const torch::Tensor& x);

}  // namespace mega::ops
