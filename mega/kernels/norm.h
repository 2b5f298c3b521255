// Normalisation of rows: by their root mean square, forward and backward; by mean and variance, forward.
#pragma once

#include "mega/kernels/rows.h"

namespace mega::kernels {

// y = x / sqrt(mean(x^2) + eps) * weight: RMSNorm, or with one weight for all columns ScaleNorm.
// weight has `columns` entries, or one if `scalar`, or is null. inverse (rows), which may be null, gets
// 1 / sqrt(...).
void rms_norm(ConstRows x, const float* weight, bool scalar, float eps, Rows y, float* inverse, int64_t begin,
              int64_t end, int64_t columns);
// dweight (columns, or 1 if scalar) is added to; may be null.
void rms_norm_backward(ConstRows x, const float* weight, bool scalar, const float* inverse, ConstRows dy,
                       Rows dx, float* dweight, int64_t begin, int64_t end, int64_t columns);

// y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * weight + bias: LayerNorm. weight and bias (columns)
// may be null; x and y may be the same rows.
void layer_norm(ConstRows x, const float* weight, const float* bias, float eps, Rows y, int64_t begin,
                int64_t end, int64_t columns);

}  // namespace mega::kernels
