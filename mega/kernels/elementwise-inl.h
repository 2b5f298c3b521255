// Loops over rows of any length; activations and their derivatives. Included once per instruction set.
#if defined(MEGA_KERNELS_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEGA_KERNELS_ELEMENTWISE_INL_H_
#undef MEGA_KERNELS_ELEMENTWISE_INL_H_
#else
#define MEGA_KERNELS_ELEMENTWISE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "mega/config/models/layer_options.h"
#include "mega/kernels/instruction_set.h"
#include "mega/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

using Bfloats = hn::Rebind<uint16_t, Floats>;  // a vector of the same number of bf16 values, as bits

// bf16 is the upper half of a float.
HWY_INLINE Vector FromBfloats(hn::Vec<Bfloats> bits) {
  const hn::Rebind<uint32_t, Floats> wide;
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(wide, bits)));
}

// The nearest bf16 values, ties to even. NaN stays NaN: rounding could wrap its bits around. The CPU's own
// instruction takes denormal numbers for 0.
HWY_INLINE hn::Vec<Bfloats> ToBfloats(Vector v) {
#if HWY_TARGET == HWY_AVX3
  if (cpu_has_bf16) {
    // Inline assembly, because the intrinsic would need a separately compiled instruction set.
    hn::Vec<Bfloats> narrow;
    asm("vcvtneps2bf16 %1, %0" : "=v"(narrow.raw) : "v"(v.raw));
    return narrow;
  }
#endif
  const hn::Rebind<uint32_t, Floats> wide;
  const auto bits = hn::BitCast(wide, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 1u));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(wide, 0x7FFFu)), odd);
  const auto quiet = hn::Or(bits, hn::Set(wide, 0x400000u));
  const auto chosen = hn::ShiftRight<16>(hn::IfThenElse(hn::RebindMask(wide, hn::IsNaN(v)), quiet, rounded));
  return hn::DemoteTo(Bfloats(), hn::BitCast(hn::Rebind<int32_t, Floats>(), chosen));
}

// Loads and stores whole vectors, converting from and to bf16 at pointers to uint16_t.
struct WholeView {
  HWY_INLINE Vector Load(const float* p) const { return hn::LoadU(Floats(), p); }
  HWY_INLINE Vector Load(const uint16_t* p) const { return FromBfloats(hn::LoadU(Bfloats(), p)); }
  HWY_INLINE void Store(Vector v, float* p) const { hn::StoreU(v, Floats(), p); }
  HWY_INLINE void Store(Vector v, uint16_t* p) const { hn::StoreU(ToBfloats(v), Bfloats(), p); }
};

// Loads (zero-filled) and stores the last columns of a row without touching memory beyond them.
struct TailView {
  int64_t count;
#if HWY_TARGET == HWY_AVX3  // masked loads and stores do not touch what they mask
  template <class Tag>
  HWY_INLINE auto First(Tag d) const {
    return hn::FirstN(d, static_cast<size_t>(count));
  }
  HWY_INLINE Vector Load(const float* p) const { return hn::MaskedLoad(First(Floats()), Floats(), p); }
  HWY_INLINE Vector Load(const uint16_t* p) const {
    return FromBfloats(hn::MaskedLoad(First(Bfloats()), Bfloats(), p));
  }
  HWY_INLINE void Store(Vector v, float* p) const { hn::BlendedStore(v, First(Floats()), Floats(), p); }
  HWY_INLINE void Store(Vector v, uint16_t* p) const {
    hn::BlendedStore(ToBfloats(v), First(Bfloats()), Bfloats(), p);
  }
#else
  template <class T>
  HWY_INLINE Vector Load(const T* p) const {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)] = {};
    std::copy_n(p, count, buffer);
    return WholeView().Load(buffer);
  }
  template <class T>
  HWY_INLINE void Store(Vector v, T* p) const {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)];
    WholeView().Store(v, buffer);
    std::copy_n(buffer, count, p);
  }
#endif
};

// Calls body(view, c) for each vector of columns, starting at column c.
template <class Body>
HWY_INLINE void ForVectors(int64_t columns, const Body& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) body(WholeView(), c);
  if (c < columns) body(TailView{columns - c}, c);
}

struct ValueAndSlope {
  Vector value, slope;
};

// max(x, 0) that keeps NaN, which hn::Max does not guarantee.
HWY_INLINE Vector Positive(Vector x) { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(Floats())), x); }

// An activation and its derivative.
template <Activation kActivation, Accuracy kAccuracy = Accuracy::full>
HWY_INLINE ValueAndSlope Activate(Vector x) {
  const Floats d;
  const Vector one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  if constexpr (kActivation == Activation::identity) {
    return {x, one};
  } else if constexpr (kActivation == Activation::sigmoid) {
    const Vector s = Sigmoid<kAccuracy>(d, x);
    return {s, hn::Mul(s, hn::Sub(one, s))};
  } else if constexpr (kActivation == Activation::silu) {
    const Vector s = Sigmoid<kAccuracy>(d, x);
    return {hn::Mul(x, s), hn::Mul(s, hn::MulAdd(x, hn::Sub(one, s), one))};
  } else if constexpr (kActivation == Activation::relu) {
    return {Positive(x), hn::IfThenElseZero(hn::Gt(x, zero), one)};
  } else if constexpr (kActivation == Activation::relu2) {
    const Vector positive = Positive(x);
    return {hn::Mul(positive, positive), hn::Add(positive, positive)};
  } else if constexpr (kActivation == Activation::gelu) {
    // x Phi(x); Phi' is the normal density.
    const Vector u = hn::Mul(x, hn::Set(d, 0.70710678f));
    const Vector e = BoundedExp(d, hn::Neg(hn::Mul(u, u)));
    const Vector phi = hn::Mul(hn::Set(d, 0.5f), hn::Add(one, ErfWithExp(d, u, e)));
    return {hn::Mul(x, phi), hn::MulAdd(hn::Mul(x, hn::Set(d, 0.39894228f)), e, phi)};
  } else {
    static_assert(kActivation == Activation::gelu_tanh);
    // 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3)
    const Vector x2 = hn::Mul(x, x);
    const Vector scale = hn::Set(d, 1.5957691216f);
    const Vector u2 = hn::Mul(hn::Mul(scale, x), hn::MulAdd(hn::Set(d, 0.044715f), x2, one));
    const Vector s = Sigmoid<kAccuracy>(d, u2);
    const Vector du2 = hn::Mul(scale, hn::MulAdd(hn::Set(d, 3 * 0.044715f), x2, one));
    return {hn::Mul(x, s), hn::MulAdd(hn::Mul(x, du2), hn::Mul(s, hn::Sub(one, s)), s)};
  }
}

// Calls body with the activation as a compile-time constant.
template <class Body>
HWY_INLINE void WithActivation(Activation activation, const Body& body) {
#define MEGA_CASE(name)  \
  case Activation::name: \
    return body(std::integral_constant<Activation, Activation::name>());
  switch (activation) {
    MEGA_CASE(identity)
    MEGA_CASE(silu)
    MEGA_CASE(gelu)
    MEGA_CASE(gelu_tanh)
    MEGA_CASE(relu)
    MEGA_CASE(relu2)
    MEGA_CASE(sigmoid)
  }
#undef MEGA_CASE
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
