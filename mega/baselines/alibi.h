// Attention with linear biases (ALiBi, Press et al. 2022): each head has a penalty of its own for distance.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/ops/attention.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// 2^(-8 (h + 1) / heads) for a power of two; for other numbers of heads, those of the next smaller power,
// then every other one of the next larger.
std::vector<double> alibi_slopes(int64_t heads);

// slope * (key - query), a row for each head, for causal sequences of at most `length` positions.
ops::RelativeBias alibi_bias(int64_t heads, int64_t length, const torch::TensorOptions& options);

}  // namespace mega::baselines
