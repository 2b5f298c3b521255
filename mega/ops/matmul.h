// Matrix products on the CPU, of float32 or of bf16: by oneDNN, which shares libtorch's OpenMP threads, and
// where the CPU has tiles (AMX) those of bf16 by our own kernel.
#pragma once

#include <cstdint>

#include "mega/ops/torch.h"

namespace mega::ops {

template <class T>
struct MatrixOf {
  const T* data;
  int64_t stride;           // between rows, in elements
  bool transposed = false;  // use its transpose
};
using Matrix = MatrixOf<float>;
using NarrowMatrix = MatrixOf<uint16_t>;  // bf16

// What else a product gets.
struct Addend {
  bool accumulate = false;      // what `out` held before
  const float* bias = nullptr;  // (columns), for each row
};

// out (rows, columns) = A (rows, depth) B (depth, columns) + addend.
void matmul(int64_t rows, int64_t columns, int64_t depth, Matrix a, Matrix b, float* out, int64_t out_stride,
            const Addend& addend = {});

// The same for tensors of two dimensions whose rows are contiguous: both factors float32, or both bf16, whose
// products are added up in float32; `out` float32, or bf16 as the factors.
struct Factor {
  torch::Tensor x;
  bool transposed = false;
};
void matmul(const Factor& a, const Factor& b, const torch::Tensor& out, const Addend& addend = {});

}  // namespace mega::ops
