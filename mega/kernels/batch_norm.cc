#include "mega/kernels/batch_norm.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/batch_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "mega/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

// Columns are independent, so the compiler vectorises these loops.
void BatchMoments(ConstRows x, const double* shift, double* HWY_RESTRICT sums, double* HWY_RESTRICT squares,
                  int64_t begin, int64_t end, int64_t columns) {
  for (int64_t row = begin; row < end; ++row) {
    const float* in = x[row];
    for (int64_t c = 0; c < columns; ++c) {
      const double centred = static_cast<double>(in[c]) - shift[c];
      sums[c] += centred;
      squares[c] += centred * centred;
    }
  }
}

void BatchNormRows(ConstRows x, const double* mean, const double* scale, const double* bias, Rows y,
                   int64_t begin, int64_t end, int64_t columns) {
  for (int64_t row = begin; row < end; ++row) {
    const float* in = x[row];
    float* HWY_RESTRICT out = y[row];
    for (int64_t c = 0; c < columns; ++c)
      out[c] = static_cast<float>((static_cast<double>(in[c]) - mean[c]) * scale[c] + bias[c]);
  }
}

void BatchNormSums(ConstRows x, const double* mean, ConstRows dy, double* HWY_RESTRICT sums,
                   double* HWY_RESTRICT products, int64_t begin, int64_t end, int64_t columns) {
  for (int64_t row = begin; row < end; ++row) {
    const float *in = x[row], *gradient = dy[row];
    for (int64_t c = 0; c < columns; ++c) {
      const double value = static_cast<double>(gradient[c]);
      sums[c] += value;
      products[c] += value * (static_cast<double>(in[c]) - mean[c]);
    }
  }
}

void BatchNormBackwardRows(ConstRows x, const double* mean, ConstRows dy, const double* offset,
                           const double* slope, const double* scale, Rows dx, int64_t begin, int64_t end,
                           int64_t columns) {
  for (int64_t row = begin; row < end; ++row) {
    const float *in = x[row], *gradient = dy[row];
    float* HWY_RESTRICT out = dx[row];
    for (int64_t c = 0; c < columns; ++c) {
      const double through = (static_cast<double>(in[c]) - mean[c]) * slope[c];
      out[c] = static_cast<float>((static_cast<double>(gradient[c]) - offset[c] - through) * scale[c]);
    }
  }
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(BatchMoments);
MEGA_EXPORT(BatchNormRows);
MEGA_EXPORT(BatchNormSums);
MEGA_EXPORT(BatchNormBackwardRows);

void batch_moments(ConstRows x, const double* shift, double* sums, double* squares, int64_t begin,
                   int64_t end, int64_t columns) {
  MEGA_DISPATCH(BatchMoments)(x, shift, sums, squares, begin, end, columns);
}
void batch_norm(ConstRows x, const double* mean, const double* scale, const double* bias, Rows y,
                int64_t begin, int64_t end, int64_t columns) {
  MEGA_DISPATCH(BatchNormRows)(x, mean, scale, bias, y, begin, end, columns);
}
void batch_norm_sums(ConstRows x, const double* mean, ConstRows dy, double* sums, double* products,
                     int64_t begin, int64_t end, int64_t columns) {
  MEGA_DISPATCH(BatchNormSums)(x, mean, dy, sums, products, begin, end, columns);
}
void batch_norm_backward(ConstRows x, const double* mean, ConstRows dy, const double* offset,
                         const double* slope, const double* scale, Rows dx, int64_t begin, int64_t end,
                         int64_t columns) {
  MEGA_DISPATCH(BatchNormBackwardRows)(x, mean, dy, offset, slope, scale, dx, begin, end, columns);
}

}  // namespace mega::kernels
#endif
