// Normalisation of each channel by its mean and variance over the batch, as in training mode.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

// Mean and (biased) variance of each channel, (D), without gradients.
struct BatchStatistics {
  torch::Tensor mean, variance;
};

// (x - mean) / sqrt(variance + eps) * weight + bias; x (..., D), weight and bias (D), or both undefined.
// `statistics` receives the mean and variance used.
torch::Tensor batch_norm(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                         double eps, BatchStatistics* statistics);

}  // namespace mega::ops
