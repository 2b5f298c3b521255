#include "mega/kernels/cauchy.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/cauchy.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "mega/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;

// Nodes occupy lanes; those of the last vector beyond the end are 0, which is as good a node as any.
HWY_INLINE V LoadSome(const float* at, int64_t count) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (HWY_LIKELY(count >= lanes)) return hn::LoadU(d, at);
  HWY_ALIGN float part[hn::MaxLanes(Tag())] = {};
  for (int64_t i = 0; i < count; ++i) part[i] = at[i];
  return hn::Load(d, part);
}

HWY_INLINE void StoreSome(V v, float* at, int64_t count) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (HWY_LIKELY(count >= lanes)) return hn::StoreU(v, d, at);
  HWY_ALIGN float part[hn::MaxLanes(Tag())];
  hn::Store(v, d, part);
  for (int64_t i = 0; i < count; ++i) at[i] = part[i];
}

// 1 / (a - i e) = (a + i e) g for a pair of poles at the nodes of a vector.
struct Fraction {
  V a, e, g;

  HWY_INLINE Fraction(const CauchyPoles& poles, int64_t n, V y) {
    const Tag d;
    a = hn::NegMulAdd(y, y, hn::Set(d, poles.square[n]));
    e = hn::Mul(hn::Set(d, 2.0f * poles.real[n]), y);
    g = hn::Div(hn::Set(d, 1.0f), hn::MulAdd(a, a, hn::Mul(e, e)));
  }
};

HWY_INLINE float Total(V v) { return hn::GetLane(hn::SumOfLanes(Tag(), v)); }

// With G = g a and H = g e, re = -2 sum (u G + y s H) and im = -2 sum (u H - y s G). R of the sums share the
// fractions, and stay in registers.
template <int R>
struct SumsOf {
  static void Run(int64_t first, const CauchyPoles& poles, const CauchyWeights& weights, const float* y,
                  int64_t nodes, float* re, float* im) {
    const Tag d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const V factor = hn::Set(d, -2.0f);
    const float *u = weights.u + first * poles.pairs, *s = weights.s + first * poles.pairs;
    for (int64_t at = 0; at < nodes; at += lanes) {
      const V yt = LoadSome(y + at, nodes - at);
      V ug[R], uh[R], sg[R], sh[R];
      for (int r = 0; r < R; ++r) ug[r] = uh[r] = sg[r] = sh[r] = hn::Zero(d);
      for (int64_t n = 0; n < poles.pairs; ++n) {
        const Fraction f(poles, n, yt);
        const V g = hn::Mul(f.g, f.a), h = hn::Mul(f.g, f.e);
        for (int r = 0; r < R; ++r) {
          const V ur = hn::Set(d, u[r * poles.pairs + n]), sr = hn::Set(d, s[r * poles.pairs + n]);
          ug[r] = hn::MulAdd(ur, g, ug[r]);
          uh[r] = hn::MulAdd(ur, h, uh[r]);
          sg[r] = hn::MulAdd(sr, g, sg[r]);
          sh[r] = hn::MulAdd(sr, h, sh[r]);
        }
      }
      for (int r = 0; r < R; ++r) {
        const int64_t to = (first + r) * nodes + at;
        StoreSome(hn::Mul(factor, hn::MulAdd(yt, sh[r], ug[r])), re + to, nodes - at);
        StoreSome(hn::Mul(factor, hn::NegMulAdd(yt, sg[r], uh[r])), im + to, nodes - at);
      }
    }
  }
};

template <int R>
struct GradientsOf {
  static void Run(int64_t first, const CauchyPoles& poles, const CauchyWeights& weights, const float* y,
                  int64_t nodes, const float* dre, const float* dim, const CauchyGradients& gradients) {
    const Tag d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const V factor = hn::Set(d, -2.0f);
    for (int64_t n = 0; n < poles.pairs; ++n) {
      V du[R], ds[R], dreal = hn::Zero(d), dsquare = hn::Zero(d);
      for (int r = 0; r < R; ++r) du[r] = ds[r] = hn::Zero(d);
      for (int64_t at = 0; at < nodes; at += lanes) {
        const V yt = LoadSome(y + at, nodes - at);
        const Fraction f(poles, n, yt);
        const V g = hn::Mul(f.g, f.a), h = hn::Mul(f.g, f.e), yg = hn::Mul(yt, g), yh = hn::Mul(yt, h);
        V re_u = hn::Zero(d), im_u = hn::Zero(d), re_s = hn::Zero(d), im_s = hn::Zero(d);
        for (int r = 0; r < R; ++r) {
          const int64_t of_pair = (first + r) * poles.pairs + n, of_node = (first + r) * nodes + at;
          const V u = hn::Set(d, weights.u[of_pair]), s = hn::Set(d, weights.s[of_pair]);
          const V re = LoadSome(dre + of_node, nodes - at), im = LoadSome(dim + of_node, nodes - at);
          du[r] = hn::MulAdd(re, g, hn::MulAdd(im, h, du[r]));
          ds[r] = hn::MulAdd(re, yh, hn::NegMulAdd(im, yg, ds[r]));
          re_u = hn::MulAdd(re, u, re_u);
          im_u = hn::MulAdd(im, u, im_u);
          re_s = hn::MulAdd(re, s, re_s);
          im_s = hn::MulAdd(im, s, im_s);
        }
        const V dg_a = hn::Mul(factor, hn::NegMulAdd(yt, im_s, re_u)),  // the gradients of g a and g e
            dg_e = hn::Mul(factor, hn::MulAdd(yt, re_s, im_u));
        // dg / da = -2 a g^2 and dg / de = -2 e g^2.
        const V shared =
            hn::Mul(factor, hn::Mul(hn::Mul(f.g, f.g), hn::MulAdd(dg_a, f.a, hn::Mul(dg_e, f.e))));
        const V da = hn::MulAdd(dg_a, f.g, hn::Mul(shared, f.a)),
                de = hn::MulAdd(dg_e, f.g, hn::Mul(shared, f.e));
        dsquare = hn::Add(dsquare, da);
        dreal = hn::MulAdd(hn::Add(yt, yt), de, dreal);
      }
      for (int r = 0; r < R; ++r) {
        gradients.u[(first + r) * poles.pairs + n] = -2.0f * Total(du[r]);
        gradients.s[(first + r) * poles.pairs + n] = -2.0f * Total(ds[r]);
      }
      gradients.real[n] = Total(dreal) + (first > 0 ? gradients.real[n] : 0.0f);
      gradients.square[n] = Total(dsquare) + (first > 0 ? gradients.square[n] : 0.0f);
    }
  }
};

// All sums, as many together as there are registers for.
template <template <int> class Work, class... Arguments>
void InGroups(int64_t sums, const Arguments&... arguments) {
  constexpr bool kManyRegisters = hn::MaxLanes(Tag()) == 16;  // AVX-512 has 32, others 16
  int64_t first = 0;
  if (kManyRegisters)
    for (; first + 6 <= sums; first += 6) Work<6>::Run(first, arguments...);
  if (kManyRegisters)
    for (; first + 4 <= sums; first += 4) Work<4>::Run(first, arguments...);
  for (; first + 2 <= sums; first += 2) Work<2>::Run(first, arguments...);
  for (; first < sums; ++first) Work<1>::Run(first, arguments...);
}

void Sums(const CauchyPoles& poles, const CauchyWeights& weights, const float* y, int64_t nodes, float* re,
          float* im) {
  InGroups<SumsOf>(weights.sums, poles, weights, y, nodes, re, im);
}

void Gradients(const CauchyPoles& poles, const CauchyWeights& weights, const float* y, int64_t nodes,
               const float* dre, const float* dim, const CauchyGradients& gradients) {
  InGroups<GradientsOf>(weights.sums, poles, weights, y, nodes, dre, dim, gradients);
}

}  // namespace
}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(Sums);
MEGA_EXPORT(Gradients);

void cauchy_sums(const CauchyPoles& poles, const CauchyWeights& weights, const float* y, int64_t nodes,
                 float* re, float* im) {
  MEGA_DISPATCH(Sums)(poles, weights, y, nodes, re, im);
}

void cauchy_gradients(const CauchyPoles& poles, const CauchyWeights& weights, const float* y, int64_t nodes,
                      const float* dre, const float* dim, const CauchyGradients& gradients) {
  MEGA_DISPATCH(Gradients)(poles, weights, y, nodes, dre, dim, gradients);
}

}  // namespace mega::kernels
#endif
