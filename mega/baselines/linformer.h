// Linformer (Wang et al. 2020): attention to keys and values that are projected along the sequence.
#pragma once

#include "mega/ops/dropout.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// Softmax attention to E^T k and F^T v: q, k, v (B, L, D) of H heads, E and F (positions, R), of which the
// first L rows are used, mask (B, L) bool with true = padding, or undefined -> (B, L, D).
torch::Tensor linformer_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                  const torch::Tensor& key_projection, const torch::Tensor& value_projection,
                                  const torch::Tensor& mask, int64_t heads, const ops::Dropout& dropout = {});

}  // namespace mega::baselines
