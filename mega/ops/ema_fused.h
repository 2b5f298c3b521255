// The fused form of the EMA: an autograd function over the scan kernels. Used by ema.cc only.
#pragma once

#include "mega/ops/ema.h"

namespace mega::ops {

struct EmaFused {
  torch::Tensor y;      // (B, L, D)
  torch::Tensor state;  // (B, D, N), if a state was passed
};

// Same as ema(), with arguments that ema() has checked.
EmaFused ema_fused(const torch::Tensor& x, const EmaCoefficients& coefficients, const torch::Tensor& omega,
                   const torch::Tensor& mask, const EmaSettings& settings, const torch::Tensor& state);

}  // namespace mega::ops
