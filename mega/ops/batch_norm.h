// Normalisation of each channel by its mean and variance over the batch, as in training.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

// Of each channel (D), no gradient: the mean, and the mean square of the distance from it.
struct BatchStatistics {
  torch::Tensor mean, variance;
};

// (x - mean) / sqrt(variance + eps) * weight + bias; x (..., D), weight and bias (D), or both undefined.
// `statistics` gets what it was normalised by.
torch::Tensor batch_norm(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                         double eps, BatchStatistics* statistics);

}  // namespace mega::ops
