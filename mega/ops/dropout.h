// Dropout whose mask is a function of a seed, identical in every form (see mega/kernels/dropout.h).
#pragma once

#include "mega/kernels/dropout.h"
#include "mega/ops/torch.h"

namespace mega::ops {

using kernels::Dropout;

// Dropout with a fresh seed from libtorch's CPU generator; inactive unless training.
Dropout draw_dropout(double rate, bool training);

// x (..., columns); the leading dimensions are flattened to the rows of the mask.
torch::Tensor dropout(const torch::Tensor& x, const Dropout& dropout);

// Drops whole channels: one mask row per sequence of x (B, L, D).
torch::Tensor feature_dropout(const torch::Tensor& x, const Dropout& dropout);

// The mask (rows, columns), already scaled by 1 / (1 - rate).
torch::Tensor dropout_mask(const Dropout& dropout, int64_t rows, int64_t columns,
                           const torch::TensorOptions& options);

}  // namespace mega::ops
