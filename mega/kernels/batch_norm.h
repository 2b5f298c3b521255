// Batch normalisation: each column is normalised over all rows, forward and backward.
//
// The kernels are memory-bound, so computing in double costs nothing; sums over a long batch in single
// precision would lose three or more digits.
#pragma once

#include "mega/kernels/rows.h"

namespace mega::kernels {

// Accumulates x - shift into sums (columns) and its square into squares (columns).
void batch_moments(ConstRows x, const double* shift, double* sums, double* squares, int64_t begin,
                   int64_t end, int64_t columns);
// y = (x - mean) scale + bias; mean, scale and bias (columns).
void batch_norm(ConstRows x, const double* mean, const double* scale, const double* bias, Rows y,
                int64_t begin, int64_t end, int64_t columns);

// Accumulates dy into sums (columns) and dy (x - mean) into products (columns).
void batch_norm_sums(ConstRows x, const double* mean, ConstRows dy, double* sums, double* products,
                     int64_t begin, int64_t end, int64_t columns);
// dx = (dy - offset - (x - mean) slope) scale; mean, offset, slope and scale (columns).
void batch_norm_backward(ConstRows x, const double* mean, ConstRows dy, const double* offset,
                         const double* slope, const double* scale, Rows dx, int64_t begin, int64_t end,
                         int64_t columns);

}  // namespace mega::kernels
