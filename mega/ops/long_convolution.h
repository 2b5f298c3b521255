// Convolution over time with a kernel as long as the sequence, each channel with its own.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

// y_t = sum_{s <= t} past_{t-s} x_s + sum_{s > t} future_{s-t-1} x_s: the present is counted once, and the
// first number of `future` is for the next position. x (B, L, D), past and future (D, T) with T <= L; an
// undefined `future` leaves the second sum out. mask (B, L) bool with true = padding, or undefined: padding
// counts as 0, but has an output like any other position.
torch::Tensor long_convolution(const torch::Tensor& x, const torch::Tensor& past, const torch::Tensor& future,
                               const torch::Tensor& mask);

// The next length with no prime factors but 2, 3 and 5: libtorch's FFTs of other lengths can be many times
// slower.
int64_t fast_length(int64_t least);

}  // namespace mega::ops
