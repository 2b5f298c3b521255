// Elementary functions on vectors, accurate to float rounding. Included once per instruction set.
#if defined(MEGA_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEGA_KERNELS_MATH_INL_H_
#undef MEGA_KERNELS_MATH_INL_H_
#else
#define MEGA_KERNELS_MATH_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A polynomial by Horner's rule; coefficients in ascending order.
template <class D, size_t kCount, class V = hn::Vec<D>>
HWY_INLINE V Polynomial(D d, V x, const float (&coefficients)[kCount]) {
  V sum = hn::Set(d, coefficients[kCount - 1]);
  for (size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[i]));
  return sum;
}

// exp(x), 0 for very negative x and never infinite: callers bound x from above. NaN stays NaN, so that a
// broken parameter shows up in the output.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V BoundedExp(D d, V x) {
  const V bounded = hn::Min(hn::Max(x, hn::Set(d, -87.0f)), hn::Set(d, 88.0f));
  const V result = hn::IfThenElseZero(hn::Ge(x, hn::Set(d, -87.0f)), hn::Exp(d, bounded));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// 1 / x for finite x >= 1. Where the hardware estimate has 14 bits, one Newton step is much faster than a
// division; the 12 bits (x86) or 8 bits (ARM) of other instruction sets would not even give 1 / 1 = 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Reciprocal(D d, V x) {
#if HWY_TARGET == HWY_AVX3
  const V estimate = hn::ApproximateReciprocal(x);
  return hn::Mul(estimate, hn::NegMulAdd(x, estimate, hn::Set(d, 2.0f)));
#else
  return hn::Div(hn::Set(d, 1.0f), x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return Reciprocal(d, hn::Add(one, BoundedExp(d, hn::Neg(x))));
}

// erf(x), given e = exp(-x^2). Near zero x * P(x^2); further out 1 - e * t * P(t) with t = 1 / (1 + |x| / 2).
// The polynomials interpolate at Chebyshev nodes.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ErfWithExp(D d, V x, V e) {
  static constexpr float kNear[] = {1.128379166e+00f, -3.761262667e-01f, 1.128359472e-01f, -2.685421202e-02f,
                                    5.189087439e-03f, -8.016864412e-04f, 7.875875453e-05f};
  static constexpr float kFar[] = {2.820825730e-01f,  2.824241254e-01f,  2.430254960e-01f,
                                   2.010129269e-01f,  -1.475901821e-02f, 2.423289441e-01f,
                                   -4.306684192e-01f, 2.385862929e-01f,  -4.387202908e-02f};
  const V one = hn::Set(d, 1.0f);
  const V size = hn::Abs(x);
  const V near = hn::Mul(x, Polynomial(d, hn::Min(hn::Mul(x, x), one), kNear));
  // x may be infinite; for |x| >= 16, e is 0 and t does not matter.
  const V t = Reciprocal(d, hn::MulAdd(hn::Set(d, 0.5f), hn::Min(size, hn::Set(d, 16.0f)), one));
  const V far = hn::CopySign(hn::NegMulAdd(e, hn::Mul(t, Polynomial(d, t, kFar)), one), x);
  return hn::IfThenElse(hn::Lt(size, one), near, far);
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
