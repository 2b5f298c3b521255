// The timestep norm of Megalodon (arXiv 2404.08801): a group norm by the statistics of all positions so far.
#pragma once

#include <cstdint>

#include "mega/ops/torch.h"

namespace mega::ops {

// Each position counts once, with the mean and the variance of each of G groups of channels:
//   n' = n + 1, mean' = mean + (m - mean) / n', var' = (n var + v) / n' + n (m - mean)^2 / n'^2,
// and is normalised by the statistics that include it. x (B, L, D); mask (B, L) bool with true = padding, or
// undefined: padding gives 0 and does not count. The state (B, 2 G + 1) is the count, the means and the
// variances of what came before, and is replaced; an undefined one is all zeros.
torch::Tensor timestep_norm(const torch::Tensor& x, int64_t groups, double epsilon, const torch::Tensor& mask,
                            torch::Tensor& state);

}  // namespace mega::ops
