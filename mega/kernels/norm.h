// Row normalisation: by root mean square, forward and backward; by mean and variance, forward only.
#pragma once

#include "mega/kernels/rows.h"

namespace mega::kernels {

// y = x / sqrt(mean(x^2) + eps) * weight: RMSNorm, or ScaleNorm with a scalar weight. weight has `columns`
// entries, or one if `scalar`, or is null. inverse (rows), which may be null, receives 1 / sqrt(...).
void rms_norm(ConstRows x, const float* weight, bool scalar, float eps, Rows y, float* inverse, int64_t begin,
              int64_t end, int64_t columns);
// Accumulates into dweight (columns, or 1 if scalar), which may be null.
void rms_norm_backward(ConstRows x, const float* weight, bool scalar, const float* inverse, ConstRows dy,
                       Rows dx, float* dweight, int64_t begin, int64_t end, int64_t columns);

// y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * weight + bias: LayerNorm. weight and bias (columns)
// may be null; y may alias x.
void layer_norm(ConstRows x, const float* weight, const float* bias, float eps, Rows y, int64_t begin,
                int64_t end, int64_t columns);

}  // namespace mega::kernels
