// Elementary functions on vectors, accurate to float rounding. Included once per instruction set.
#if defined(MEGA_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEGA_KERNELS_MATH_INL_H_
#undef MEGA_KERNELS_MATH_INL_H_
#else
#define MEGA_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How exact a function is: to float rounding, or for what is rounded to bf16, which moves it by up to 2^-8 of
// itself: to less than 2^-11.
enum class Accuracy { full, bf16 };

// A polynomial by Horner's rule; coefficients in ascending order.
template <class D, size_t kCount, class V = hn::Vec<D>>
HWY_INLINE V Polynomial(D d, V x, const float (&coefficients)[kCount]) {
  V sum = hn::Set(d, coefficients[kCount - 1]);
  for (size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[i]));
  return sum;
}

// x, or the nearer of two bounds; NaN stays NaN, so that a broken parameter shows up in the output.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Clamp(D d, V x, float low, float high) {
  const V least = hn::Set(d, low), most = hn::Set(d, high);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR  // whose instructions return the second operand for NaN
  return hn::Min(most, hn::Max(least, x));
#else
  return hn::IfThenElse(hn::Lt(x, least), least, hn::IfThenElse(hn::Gt(x, most), most, x));
#endif
}

// exp(x) for -87 <= x <= 88, and the value at the nearer end beyond that.
//
// x = n ln 2 + r with |r| <= ln 2 / 2; exp(x) = 2^n (1 + r + r^2 Q(r)), where Q interpolates at Chebyshev
// nodes (error 1e-8); that for bf16 has the least largest error, 1.2e-4 of exp(x). Adding 1.5 2^23 leaves n
// as an integer in the lowest bits, and 127 there makes n the exponent of 2^n.
template <Accuracy kAccuracy = Accuracy::full, class D, class V = hn::Vec<D>>
HWY_INLINE V ClampedExp(D d, V x) {
  static constexpr float kQ[] = {5.000000000e-01f, 1.666657627e-01f, 4.166655242e-02f, 8.363333531e-03f,
                                 1.392637612e-03f};
  static constexpr float kShortQ[] = {5.039410366e-01f, 1.666281178e-01f};
  const hn::RebindToUnsigned<D> bits;
  const V bounded = Clamp(d, x, -87.0f, 88.0f);
  const V shift = hn::Set(d, 12582912.0f + 127.0f);
  const V shifted = hn::MulAdd(bounded, hn::Set(d, 1.44269504f), shift);
  const V n = hn::Sub(shifted, shift);
  const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(bits, shifted)));
  if constexpr (kAccuracy == Accuracy::bf16) {
    const V r = hn::NegMulAdd(n, hn::Set(d, 0.69314718f), bounded);
    const V rest = hn::MulAdd(hn::Mul(r, r), Polynomial(d, r, kShortQ), r);
    return hn::MulAdd(scale, rest, scale);
  }
  // ln 2 in two parts: n times the first is exact.
  const V r =
      hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), hn::NegMulAdd(n, hn::Set(d, 0.693359375f), bounded));
  const V rest = hn::MulAdd(hn::Mul(r, r), Polynomial(d, r, kQ), r);
  return hn::MulAdd(scale, rest, scale);
}

// The same, but 0 for x < -87.
template <Accuracy kAccuracy = Accuracy::full, class D, class V = hn::Vec<D>>
HWY_INLINE V BoundedExp(D d, V x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), ClampedExp<kAccuracy>(d, x));
}

// 1 / x for finite x >= 1. Where the hardware estimate has 14 bits, one Newton step is much faster than a
// division; the 12 bits (x86) or 8 bits (ARM) of other instruction sets would not even give 1 / 1 = 1.
template <Accuracy kAccuracy = Accuracy::full, class D, class V = hn::Vec<D>>
HWY_INLINE V Reciprocal(D d, V x) {
#if HWY_TARGET == HWY_AVX3
  const V estimate = hn::ApproximateReciprocal(x);
  if constexpr (kAccuracy == Accuracy::bf16) return estimate;
  return hn::Mul(estimate, hn::NegMulAdd(x, estimate, hn::Set(d, 2.0f)));
#else
  return hn::Div(hn::Set(d, 1.0f), x);
#endif
}

// With an exact reciprocal always: 1 - sigmoid(x) vanishes where it should.
template <Accuracy kAccuracy = Accuracy::full, class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return Reciprocal(d, hn::Add(one, ClampedExp<kAccuracy>(d, hn::Neg(x))));
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
