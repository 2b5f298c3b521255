// Sums of simple fractions at points of the imaginary axis, with poles in conjugate pairs.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

// sum_n v_n / (i y - p_n) + conj(v_n) / (i y - conj(p_n)) at every y: v (D, R, N, 2), p (D, N, 2), y (M) ->
// the real and the imaginary parts, (2, D, R, M). A last dimension of 2 is (real, imaginary). y has no
// gradient.
torch::Tensor cauchy_sums(const torch::Tensor& v, const torch::Tensor& p, const torch::Tensor& y);

}  // namespace mega::ops
