#include "mega/kernels/adam.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/adam.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "mega/kernels/dispatch.h"
#include "mega/kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

void AdamRange(const AdamStep& step, const float* gradient, float* parameter, float* mean, float* square,
               int64_t count) {
  const Floats d;
  const Vector scale = hn::Set(d, step.scale), keep = hn::Set(d, 1.0f - step.decay);
  const Vector beta1 = hn::Set(d, step.beta1), beta2 = hn::Set(d, step.beta2);
  const Vector rest1 = hn::Set(d, 1.0f - step.beta1), rest2 = hn::Set(d, 1.0f - step.beta2);
  const Vector rate = hn::Set(d, step.rate), epsilon = hn::Set(d, step.epsilon);
  ForVectors(count, [&](auto view, int64_t i) HWY_ATTR {
    const Vector g = hn::Mul(view.Load(gradient + i), scale);
    const Vector m = hn::MulAdd(beta1, view.Load(mean + i), hn::Mul(rest1, g));
    const Vector v = hn::MulAdd(beta2, view.Load(square + i), hn::Mul(rest2, hn::Mul(g, g)));
    const Vector change = hn::Div(hn::Mul(rate, m), hn::Add(hn::Sqrt(v), epsilon));
    view.Store(m, mean + i);
    view.Store(v, square + i);
    view.Store(hn::Sub(hn::Mul(keep, view.Load(parameter + i)), change), parameter + i);
  });
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(AdamRange);

void adam(const AdamStep& step, const float* gradient, float* parameter, float* mean, float* square,
          int64_t count) {
  MEGA_DISPATCH(AdamRange)(step, gradient, parameter, mean, square, count);
}

}  // namespace mega::kernels
#endif
