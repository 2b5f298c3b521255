// Products of bf16 matrices of any size by tiles (AMX), added up in float: those of training. Call only where
// has_tiles().
#pragma once

#include <cstdint>

namespace mega::kernels {

struct BfloatMatrix {
  const uint16_t* data = nullptr;
  int64_t stride = 0;       // between rows
  bool transposed = false;  // use its transpose
};

// out (rows, columns) = A (rows, depth) B (depth, columns), plus what `out` held with `accumulate`, plus a
// bias (columns) for each row, which may be null. Out is float, or uint16_t for bf16.
template <class Out>
struct TileProduct {
  int64_t rows = 0, columns = 0, depth = 0;
  BfloatMatrix a, b;
  Out* out = nullptr;
  int64_t out_stride = 0;
  bool accumulate = false;
  const float* bias = nullptr;
};

// Size in floats of the 64-byte-aligned scratch buffer of a product.
template <class Out>
int64_t tile_product_scratch(const TileProduct<Out>& product);

template <class Out>
void tile_product(const TileProduct<Out>& product, float* scratch);

}  // namespace mega::kernels
