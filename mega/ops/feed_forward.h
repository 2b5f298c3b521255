// The two layers of a feed-forward network as one operation.
#pragma once

#include "mega/config/models/layer_options.h"
#include "mega/ops/dropout.h"
#include "mega/ops/torch.h"

namespace mega::ops {

// linear(dropout(activation(linear(x, W1, b1))), W2, b2): x (..., D), W1 (F, D), b1 (F), W2 (D, F), b2 (D).
// For the backward pass it saves x and the inner product, in bf16 if that is the precision.
torch::Tensor feed_forward(const torch::Tensor& x, const torch::Tensor& weight1, const torch::Tensor& bias1,
                           Activation activation, const Dropout& dropout, const torch::Tensor& weight2,
                           const torch::Tensor& bias2);

}  // namespace mega::ops
