// Plain float32 matrix products on the CPU, by the fastest available library.
#pragma once

#include <cstdint>

namespace mega::ops {

struct Matrix {
  const float* data;
  int64_t stride;           // between rows, in floats
  bool transposed = false;  // use its transpose
};

// out (rows, columns) = A (rows, depth) B (depth, columns), or += with `accumulate`.
void matmul(int64_t rows, int64_t columns, int64_t depth, Matrix a, Matrix b, float* out, int64_t out_stride,
            bool accumulate = false);

}  // namespace mega::ops
