// Performer (Choromanski et al. 2021): attention through positive features of queries and keys.
#pragma once

#include "mega/ops/torch.h"

namespace mega::baselines {

// The random features of FAVOR+ for x (B, L, H E) of H heads: (B, L, H M) with the projection (M, E). Of
// keys, the largest exponent is taken over all positions but padding, of queries for each alone; it carries
// no gradient.
torch::Tensor favor_features(const torch::Tensor& x, const torch::Tensor& projection, int64_t heads,
                             bool keys, const torch::Tensor& mask = {});

// (M, E): rows of orthogonal directions, in blocks of E, each of the length of a Gaussian vector.
torch::Tensor orthogonal_features(int64_t features, int64_t width);

}  // namespace mega::baselines
