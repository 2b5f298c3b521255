// Attention with linear biases (ALiBi, Press et al. 2022): each head has its own distance penalty.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/ops/attention.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// 2^(-8 (h + 1) / heads) if the number of heads is a power of two; otherwise the slopes of the next smaller
// power, followed by every other slope of the next larger one.
std::vector<double> alibi_slopes(int64_t heads);

// slope * (key - query), one row per head, for causal sequences of at most `length` positions.
ops::RelativeBias alibi_bias(int64_t heads, int64_t length, const torch::TensorOptions& options);

}  // namespace mega::baselines
