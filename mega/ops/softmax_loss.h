// The loss of a softmax over a large vocabulary.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

// -log softmax(x W^T)[target] of each row: x (M, D), weight (V, D), targets (M) int64 -> (M). The fused form
// works on a few rows at a time and keeps none of their scores: the backward pass makes them again.
torch::Tensor softmax_losses(const torch::Tensor& x, const torch::Tensor& weight,
                             const torch::Tensor& targets);

}  // namespace mega::ops
