// Batch normalisation of rows: each column over all rows, forward and backward.
//
// Memory is what it costs, so the arithmetic is in double for nothing: a sum over a long batch in single
// precision would lose three digits and more.
#pragma once

#include "mega/kernels/rows.h"

namespace mega::kernels {

// Adds to the sums (columns) of x - shift and of its square.
void batch_moments(ConstRows x, const double* shift, double* sums, double* squares, int64_t begin,
                   int64_t end, int64_t columns);
// y = (x - mean) scale + bias, each (columns)
void batch_norm(ConstRows x, const double* mean, const double* scale, const double* bias, Rows y,
                int64_t begin, int64_t end, int64_t columns);

// Adds to the sums (columns) of dy and of dy (x - mean).
void batch_norm_sums(ConstRows x, const double* mean, ConstRows dy, double* sums, double* products,
                     int64_t begin, int64_t end, int64_t columns);
// dx = (dy - offset - (x - mean) slope) scale, each (columns)
void batch_norm_backward(ConstRows x, const double* mean, ConstRows dy, const double* offset,
                         const double* slope, const double* scale, Rows dx, int64_t begin, int64_t end,
                         int64_t columns);

}  // namespace mega::kernels
