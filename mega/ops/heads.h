// One head of tensors (B, L, H X), whose columns are grouped by head.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

// (B, L, H X) -> (B, H, L, X), a view.
inline torch::Tensor split_heads(const torch::Tensor& x, int64_t heads) {
  return x.reshape({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
}

// (B, H, L, X) -> (B, L, H X)
inline torch::Tensor join_heads(const torch::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// The rows of one head of one sequence, in place. Contiguous float32 on the CPU.
struct HeadRows {
  float* data;
  int64_t stride, width;
  float* row(int64_t i) const { return data + i * stride; }
};
inline HeadRows head_rows(const torch::Tensor& x, int64_t sequence, int64_t head, int64_t heads) {
  const int64_t width = x.size(2) / heads;
  return {x.data_ptr<float>() + sequence * x.size(1) * x.size(2) + head * width, x.size(2), width};
}

}  // namespace mega::ops
