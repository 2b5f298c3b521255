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

// (1 + erf(x)) / 2, given e = exp(-x^2), accurate where it is small, too: (1 - erf(|x|)) / 2 = e t P(t) with
// t = 1 / (1 + |x| / 2), to 3e-7 of itself, or for bf16 8e-5 and what t lacks. P is the polynomial with the
// least largest error. Unlike erf itself, this needs no other one near zero.
template <Accuracy kAccuracy>
HWY_INLINE Vector HalfErf(Floats d, Vector x, Vector e) {
  static constexpr float kP[] = {1.410439461e-01f,  1.411749125e-01f,  1.216431782e-01f,
                                 1.009870842e-01f,  -1.248058956e-02f, 1.378380209e-01f,
                                 -2.425644696e-01f, 1.417914331e-01f,  -2.943353727e-02f};
  static constexpr float kShortP[] = {1.399973333e-01f, 1.550637239e-01f, 5.564392040e-02f, 2.339644364e-01f,
                                      -8.462771559e-02f};
  const Vector one = hn::Set(d, 1.0f);
  // x may be infinite; for |x| >= 16, e is 0 and t does not matter.
  const Vector size = hn::Min(hn::Abs(x), hn::Set(d, 16.0f));
  const Vector t = Reciprocal<kAccuracy>(d, hn::MulAdd(hn::Set(d, 0.5f), size, one));
  const Vector p = kAccuracy == Accuracy::full ? Polynomial(d, t, kP) : Polynomial(d, t, kShortP);
  const Vector tail = hn::Mul(e, hn::Mul(t, p));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
}

// The weight of a score and its derivative, for functions that treat each score independently.
template <AttentionFunction kFunction, Accuracy kAccuracy = Accuracy::full>
HWY_INLINE ValueAndSlope Weight(Floats d, Vector s) {
  if constexpr (kFunction == AttentionFunction::relu2) {
    const Vector positive = Positive(s);
    return {hn::Mul(positive, positive), hn::Add(positive, positive)};
  } else {
    static_assert(kFunction == AttentionFunction::laplace);
    const Vector x = hn::Mul(hn::Sub(s, hn::Set(d, kLaplaceMean)), hn::Set(d, kLaplaceInverse));
    const Vector e = BoundedExp<kAccuracy>(d, hn::Neg(hn::Mul(x, x)));
    return {HalfErf<kAccuracy>(d, x, e), hn::Mul(e, hn::Set(d, kLaplaceSlope))};
  }
}

// Replaces `width` scores (a multiple of the vector length) with exp(s - maximum) and returns their sum. If
// no key is visible, all scores and the maximum are -inf and the weights are 0.
template <Accuracy kAccuracy = Accuracy::full>
HWY_INLINE float ExpScores(float* scores, int64_t width, float maximum) {
  const Floats d;
  const Vector shift = hn::Set(d, maximum == -std::numeric_limits<float>::infinity() ? 0.0f : maximum);
  Vector sum = hn::Zero(d);
  for (int64_t c = 0; c < width; c += static_cast<int64_t>(hn::Lanes(d))) {
    const Vector p = BoundedExp<kAccuracy>(d, hn::Sub(hn::Load(d, scores + c), shift));
    sum = hn::Add(sum, p);
    hn::Store(p, d, scores + c);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
