// Products of activations with a weight matrix: y[m][n] = w_n . x_m + b_n.
//
// Weights keep the row-major layout of the model file, so they are read directly from the memory map, and a
// single token costs one pass over them. Each y[m][n] is computed in a fixed order: the result is
// bit-identical for any number of rows per call, any number of threads and any split of a text. Products with
// i8 weights are exact up to their scales, hence the same on every CPU. Only where bf16 meets bf16
// (reads_rounded), sums are added in another order in calls with many rows than in those with few. Nothing
// needs to be aligned, and nothing is read out of bounds.
#pragma once

#include <cstdint>

#include "mega/kernels/rows.h"

namespace mega::kernels {

enum class WeightType { f32, bf16, i8 };

// W (rows, depth), row-major and contiguous. For i8, row n represents scales[n] * its integers.
struct Weights {
  WeightType type = WeightType::f32;
  const void* data = nullptr;
  int64_t rows = 0, depth = 0;
  const float* scales = nullptr;  // (rows), i8 only
  const int32_t* sums = nullptr;  // (rows), i8 only: see row_sums
  bool rounds = false;            // bf16 only: activations may be rounded to bf16, too
};

// The sum of each row of data (rows, depth), needed by unsigned products: sums (rows).
void row_sums(const int8_t* data, int64_t depth, int32_t* sums, int64_t begin, int64_t end);

// Rows of activations. Products with i8 weights read `quantized`, `scales` and `sums`, those that round read
// `rounded`, all others `values`.
struct Activations {
  ConstRows values{};
  const int8_t* quantized = nullptr;  // (M, depth), contiguous: x = scales[m] * quantized
  const float* scales = nullptr;      // (M)
  const int32_t* sums = nullptr;      // (M), of `quantized`
  const uint16_t* rounded = nullptr;  // (M, depth), contiguous
};

// Whether products with these weights multiply bf16 by bf16: where that is allowed, the CPU has such an
// instruction, and the depth is even.
bool reads_rounded(const Weights& weights);

// Quantizes rows [begin, end): scale = max |x| / 127, values rounded to nearest. A row with a non-finite
// value gets the scale NaN, which makes its products NaN.
void quantize_rows(ConstRows x, int8_t* quantized, float* scales, int64_t begin, int64_t end,
                   int64_t columns);

// Computes y[m][n] for rows m of x in [row_begin, row_end) and rows n of the weights in [begin, end).
// Efficient for ranges of at least a few dozen n. The bias (rows) may be null.
void dot_rows(const Weights& weights, int64_t begin, int64_t end, const Activations& x, int64_t row_begin,
              int64_t row_end, Rows y, const float* bias = nullptr);

// Row n of the weights, converted to float (depth).
void weight_row(const Weights& weights, int64_t n, float* row);

// Rounds to the nearest bf16, ties to even; NaN stays NaN.
void to_bf16(const float* x, uint16_t* y, int64_t count);
void from_bf16(const uint16_t* x, float* y, int64_t count);

}  // namespace mega::kernels
