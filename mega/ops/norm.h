// Root-mean-square normalisation over the last dimension.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

// x / sqrt(mean(x^2) + eps) * weight; x (..., D), weight (D) for RMSNorm, (1) for ScaleNorm, or undefined.
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps);

}  // namespace mega::ops
