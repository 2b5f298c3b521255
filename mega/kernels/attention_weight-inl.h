// Attention weights from scores, for a single query or a block of queries. Included once per instruction set.
#if defined(MEGA_KERNELS_ATTENTION_WEIGHT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEGA_KERNELS_ATTENTION_WEIGHT_INL_H_
#undef MEGA_KERNELS_ATTENTION_WEIGHT_INL_H_
#else
#define MEGA_KERNELS_ATTENTION_WEIGHT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#include "mega/config/models/layer_options.h"
#include "mega/kernels/elementwise-inl.h"
#include "mega/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Laplace attention (equation 16): 0.5 (1 + erf((s - mu) / (sigma sqrt 2))), with the constants rounded as in
// the released implementation.
constexpr float kLaplaceMean = 0.707107f;
constexpr float kLaplaceInverse = static_cast<float>(1.0 / (0.282095 * 1.4142135623730951));
constexpr float kLaplaceSlope = static_cast<float>(1.0 / (0.282095 * 2.5066282746310002));

// The weight of a score and its derivative, for functions that treat each score independently.
template <AttentionFunction kFunction>
HWY_INLINE ValueAndSlope Weight(Floats d, Vector s) {
  if constexpr (kFunction == AttentionFunction::relu2) {
    const Vector positive = Positive(s);
    return {hn::Mul(positive, positive), hn::Add(positive, positive)};
  } else {
    static_assert(kFunction == AttentionFunction::laplace);
    const Vector half = hn::Set(d, 0.5f);
    const Vector x = hn::Mul(hn::Sub(s, hn::Set(d, kLaplaceMean)), hn::Set(d, kLaplaceInverse));
    const Vector e = BoundedExp(d, hn::Neg(hn::Mul(x, x)));
    return {hn::MulAdd(half, ErfWithExp(d, x, e), half), hn::Mul(e, hn::Set(d, kLaplaceSlope))};
  }
}

// Replaces `width` scores (a multiple of the vector length) with exp(s - maximum) and returns their sum. If
// no key is visible, all scores and the maximum are -inf and the weights are 0.
HWY_INLINE float ExpScores(float* scores, int64_t width, float maximum) {
  const Floats d;
  const Vector shift = hn::Set(d, maximum == -std::numeric_limits<float>::infinity() ? 0.0f : maximum);
  Vector sum = hn::Zero(d);
  for (int64_t c = 0; c < width; c += static_cast<int64_t>(hn::Lanes(d))) {
    const Vector p = BoundedExp(d, hn::Sub(hn::Load(d, scores + c), shift));
    sum = hn::Add(sum, p);
    hn::Store(p, d, scores + c);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
