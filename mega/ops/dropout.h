// Dropout whose mask is a function of a seed, the same in every form (see mega/kernels/dropout.h).
#pragma once

#include "mega/kernels/dropout.h"
#include "mega/ops/torch.h"

namespace mega::ops {

using kernels::Dropout;

// Dropout of the given rate with a fresh seed from libtorch's CPU generator; inactive unless training.
Dropout draw_dropout(double rate, bool training);

// x (..., columns); rows of the mask are the leading dimensions together.
torch::Tensor dropout(const torch::Tensor& x, const Dropout& dropout);

// Drops whole channels: one row of the mask for each sequence of x (B, L, D).
torch::Tensor feature_dropout(const torch::Tensor& x, const Dropout& dropout);

// The mask divided by (1 - rate), of shape (rows, columns).
torch::Tensor dropout_mask(const Dropout& dropout, int64_t rows, int64_t columns,
                           const torch::TensorOptions& options);

}  // namespace mega::ops
