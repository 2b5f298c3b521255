// Cross-entropy of a softmax over a large vocabulary.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

// -log softmax(x W^T)[target] of each row: x (M, D), weight (V, D), targets (M) int64 -> (M). The fused form
// processes a few rows at a time and saves no scores: the backward pass recomputes them.
torch::Tensor softmax_losses(const torch::Tensor& x, const torch::Tensor& weight,
                             const torch::Tensor& targets);

}  // namespace mega::ops
