#include "mega/kernels/norm.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "mega/kernels/dispatch.h"
#include "mega/kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

HWY_INLINE float Dot(const float* a, const float* b, int64_t columns) {
  const Floats d;
  Vector sum = hn::Zero(d);
  ForVectors(columns, [&](auto view, int64_t c)
                          HWY_ATTR { sum = hn::MulAdd(view.Load(a + c), view.Load(b + c), sum); });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void RmsNormRows(ConstRows x, const float* weight, bool scalar, float eps, Rows y, float* inverse,
                 int64_t begin, int64_t end, int64_t columns) {
  const Floats d;
  const Vector common = hn::Set(d, scalar && weight != nullptr ? *weight : 1.0f);
  const bool per_column = weight != nullptr && !scalar;
  for (int64_t row = begin; row < end; ++row) {
    const float own = 1.0f / std::sqrt(Dot(x[row], x[row], columns) / static_cast<float>(columns) + eps);
    if (inverse != nullptr) inverse[row] = own;
    const Vector factor = hn::Mul(common, hn::Set(d, own));
    ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
      Vector value = hn::Mul(view.Load(x[row] + c), factor);
      if (per_column) value = hn::Mul(value, view.Load(weight + c));
      view.Store(value, y[row] + c);
    });
  }
}

void RmsNormBackwardRows(ConstRows x, const float* weight, bool scalar, const float* inverse, ConstRows dy,
                         Rows dx, float* dweight, int64_t begin, int64_t end, int64_t columns) {
  const Floats d;
  const float common = scalar && weight != nullptr ? *weight : 1.0f;
  const bool per_column = weight != nullptr && !scalar;
  double scalar_sum = 0.0;
  for (int64_t row = begin; row < end; ++row) {
    // y = w x i, i = (mean x^2 + eps)^-1/2:  dx = i (w dy) - x i^3 mean(w dy x)
    Vector sum = hn::Zero(d);
    const Vector scale = hn::Set(d, inverse[row]);
    ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
      const Vector product = hn::Mul(view.Load(x[row] + c), view.Load(dy[row] + c));
      if (per_column) {
        sum = hn::MulAdd(product, view.Load(weight + c), sum);
        if (dweight != nullptr) view.Store(hn::MulAdd(product, scale, view.Load(dweight + c)), dweight + c);
      } else {
        sum = hn::Add(sum, product);
      }
    });
    const float inner = hn::GetLane(hn::SumOfLanes(d, sum));
    scalar_sum += static_cast<double>(inner * inverse[row]);
    const float cubed = inverse[row] * inverse[row] * inverse[row];
    const Vector direct = hn::Set(d, common * inverse[row]);
    const Vector through = hn::Set(d, common * cubed * inner / static_cast<float>(columns));
    ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
      Vector gradient = hn::Mul(view.Load(dy[row] + c), direct);
      if (per_column) gradient = hn::Mul(gradient, view.Load(weight + c));
      view.Store(hn::NegMulAdd(view.Load(x[row] + c), through, gradient), dx[row] + c);
    });
  }
  if (scalar && dweight != nullptr) *dweight += static_cast<float>(scalar_sum);
}

// y = x - mean(x); y may alias x.
HWY_INLINE void Centre(const float* x, int64_t columns, float* y) {
  const Floats d;
  Vector sum = hn::Zero(d);
  ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR { sum = hn::Add(sum, view.Load(x + c)); });
  const Vector mean = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, sum)) / static_cast<float>(columns));
  ForVectors(columns,
             [&](auto view, int64_t c) HWY_ATTR { view.Store(hn::Sub(view.Load(x + c), mean), y + c); });
}

void LayerNormRows(ConstRows x, const float* weight, const float* bias, float eps, Rows y, int64_t begin,
                   int64_t end, int64_t columns) {
  const Floats d;
  for (int64_t row = begin; row < end; ++row) {
    // Centred twice: the first mean is rounded at the magnitude of x, which may be far from zero.
    Centre(x[row], columns, y[row]);
    Centre(y[row], columns, y[row]);
    const float variance = Dot(y[row], y[row], columns) / static_cast<float>(columns);
    const Vector inverse = hn::Set(d, 1.0f / std::sqrt(variance + eps));
    ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
      Vector value = hn::Mul(view.Load(y[row] + c), inverse);
      if (weight != nullptr) value = hn::Mul(value, view.Load(weight + c));
      if (bias != nullptr) value = hn::Add(value, view.Load(bias + c));
      view.Store(value, y[row] + c);
    });
  }
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(RmsNormRows);
MEGA_EXPORT(RmsNormBackwardRows);
MEGA_EXPORT(LayerNormRows);

void rms_norm(ConstRows x, const float* weight, bool scalar, float eps, Rows y, float* inverse, int64_t begin,
              int64_t end, int64_t columns) {
  MEGA_DISPATCH(RmsNormRows)(x, weight, scalar, eps, y, inverse, begin, end, columns);
}
void rms_norm_backward(ConstRows x, const float* weight, bool scalar, const float* inverse, ConstRows dy,
                       Rows dx, float* dweight, int64_t begin, int64_t end, int64_t columns) {
  MEGA_DISPATCH(RmsNormBackwardRows)
  (x, weight, scalar, inverse, dy, dx, dweight, begin, end, columns);
}
void layer_norm(ConstRows x, const float* weight, const float* bias, float eps, Rows y, int64_t begin,
                int64_t end, int64_t columns) {
  MEGA_DISPATCH(LayerNormRows)(x, weight, bias, eps, y, begin, end, columns);
}

}  // namespace mega::kernels
#endif
