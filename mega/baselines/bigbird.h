// BigBird (Zaheer et al. 2020): attention of blocks to neighbours, to the first and last block, and to random
// ones, as the Long Range Arena has it.
#pragma once

#include "mega/ops/dropout.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// Softmax attention; q, k, v (B, L, D) of H heads, L a multiple of `block` and at least 5 blocks; random (H,
// blocks - 2, R) int64, the random blocks of each but the first and the last; mask (B, L) bool with true =
// padding, or undefined -> (B, L, D). A block that is random and a neighbour counts twice.
torch::Tensor bigbird_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                const torch::Tensor& random, const torch::Tensor& mask, int64_t heads,
                                int64_t block, double dropout = 0.0);

// The random blocks of a layer for so many blocks of this size, (H, blocks - 2, count): always the same, as
// published, and for sequences above 1024 positions all among the first 1024.
torch::Tensor draw_random_blocks(int64_t layer, int64_t heads, int64_t blocks, int64_t block, int64_t count);

}  // namespace mega::baselines
