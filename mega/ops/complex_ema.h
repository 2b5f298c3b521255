// The complex moving average of Megalodon (arXiv 2404.08801): averages that decay and turn.
#pragma once

#include "mega/ops/ema.h"
#include "mega/ops/state_space.h"
#include "mega/ops/torch.h"

namespace mega::ops {

// As ops::ema, with coefficients of kD channels, k = 2 if bidirectional, and a state (B, D, 2 N) of (real,
// imaginary) pairs. There is no truncation. A sequence is a convolution (mega/ops/long_convolution.h) with
// the averages' kernel, a stream their recurrence.
torch::Tensor complex_ema(const torch::Tensor& x, const DiagonalSystem& coefficients,
                          const torch::Tensor& omega, const torch::Tensor& mask, const EmaSettings& settings,
                          torch::Tensor* state = nullptr);

}  // namespace mega::ops
