// Cross-entropy of a softmax over a large vocabulary.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

// -log softmax(x W^T)[target] of each row: x (M, D), weight (V, D), targets (M) int64 -> (M). With label
// smoothing e, a share of the target is spread over all tokens, as released:
//   (1 - e) -log p(target) + e/V sum_w -log p(w)
// The fused form processes a few rows at a time and saves no scores: the backward pass recomputes them.
torch::Tensor softmax_losses(const torch::Tensor& x, const torch::Tensor& weight,
                             const torch::Tensor& targets, double smoothing = 0.0);

}  // namespace mega::ops
