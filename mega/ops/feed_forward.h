// The two-layer feed-forward with its residual.
#pragma once

#include "mega/config/layer_options.h"
#include "mega/ops/dropout.h"
#include "mega/ops/torch.h"

namespace mega::ops {

struct FeedForwardSettings {
  Activation activation = Activation::silu;
  Dropout hidden;  // after the activation
  Dropout output;  // after the second product
};

// residual + dropout(W2 dropout(activation(W1 x + b1)) + b2); x, residual (B, L, D), W1 (F, D), W2 (D, F).
torch::Tensor feed_forward(const torch::Tensor& x, const torch::Tensor& residual, const torch::Tensor& w1,
                           const torch::Tensor& b1, const torch::Tensor& w2, const torch::Tensor& b2,
                           const FeedForwardSettings& settings);

}  // namespace mega::ops
