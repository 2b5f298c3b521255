// Products of activations with a weight matrix, row by row: y[m][n] = w_n . x_m.
//
// A row of weights lies as a model file has it, so weights are read where they are mapped, and a single token
// costs one pass over them. Each y[m][n] is computed by itself in a fixed order: its bits do not depend on
// how many rows are asked for at once, and so neither on the number of threads nor on how a text is cut.
// Products with i8 weights are exact up to their scales, and so the same on every CPU. Nothing needs to be
// aligned, and nothing is read beyond a matrix.
#pragma once

#include <cstdint>

#include "mega/kernels/rows.h"

namespace mega::kernels {

enum class WeightType { f32, bf16, i8 };

// W (rows, depth), row after row without gaps. Of i8, row n stands for scales[n] * its numbers.
struct Weights {
  WeightType type = WeightType::f32;
  const void* data = nullptr;
  int64_t rows = 0, depth = 0;
  const float* scales = nullptr;  // (rows), of i8
  const int32_t* sums = nullptr;  // (rows), of i8: see weight_sums
};

// The sum of each row's numbers, which unsigned products need: (rows) from data (rows, depth).
void weight_sums(const int8_t* data, int64_t depth, int32_t* sums, int64_t begin, int64_t end);

// Rows of activations. Products with i8 weights read `quantized` and `scales`, all others `values`.
struct Activations {
  ConstRows values{};
  const int8_t* quantized = nullptr;  // (M, depth) without gaps: x = scales[m] * quantized
  const float* scales = nullptr;      // (M)
};

// quantized and scales of rows [begin, end): scale = max |x| / 127, numbers rounded to the nearest. A row
// with a number that is not finite gets the scale NaN, and so do its products.
void quantize_rows(ConstRows x, int8_t* quantized, float* scales, int64_t begin, int64_t end,
                   int64_t columns);

// y[m][n] for rows m of x in [row_begin, row_end) and rows n of the weights in [begin, end). Fast for ranges
// of dozens of n at least.
void dot_rows(const Weights& weights, int64_t begin, int64_t end, const Activations& x, int64_t row_begin,
              int64_t row_end, Rows y);

// Row n of the weights as floats (depth).
void weight_row(const Weights& weights, int64_t n, float* row);

// Rounding to the nearest bf16, ties to even; a NaN stays one.
void to_bf16(const float* x, uint16_t* y, int64_t count);
void from_bf16(const uint16_t* x, float* y, int64_t count);

}  // namespace mega::kernels
