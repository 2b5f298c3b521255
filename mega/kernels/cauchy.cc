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

void Sums(const CauchyPoles& poles, const CauchyWeights& weights, const float* y, int64_t nodes, float* re,
          float* im) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t at = 0; at < nodes; at += lanes) {
    const V yt = LoadSome(y + at, nodes - at);
    for (int64_t r = 0; r < weights.sums; ++r) {
      StoreSome(hn::Zero(d), re + r * nodes + at, nodes - at);
      StoreSome(hn::Zero(d), im + r * nodes + at, nodes - at);
    }
    for (int64_t n = 0; n < poles.pairs; ++n) {
      const Fraction f(poles, n, yt);
      const V ga = hn::Mul(f.g, f.a), ge = hn::Mul(f.g, f.e);
      for (int64_t r = 0; r < weights.sums; ++r) {
        const V u = hn::Set(d, -2.0f * weights.u[r * poles.pairs + n]);
        const V ys = hn::Mul(yt, hn::Set(d, -2.0f * weights.s[r * poles.pairs + n]));
        float *to_re = re + r * nodes + at, *to_im = im + r * nodes + at;
        const V sum_re = hn::MulAdd(ys, ge, hn::MulAdd(u, ga, LoadSome(to_re, nodes - at)));
        const V sum_im = hn::NegMulAdd(ys, ga, hn::MulAdd(u, ge, LoadSome(to_im, nodes - at)));
        StoreSome(sum_re, to_re, nodes - at);
        StoreSome(sum_im, to_im, nodes - at);
      }
    }
  }
}

HWY_INLINE float Total(V v) { return hn::GetLane(hn::SumOfLanes(Tag(), v)); }

// With G = g a and H = g e, re = -2 sum (u G + y s H) and im = -2 sum (u H - y s G).
void Gradients(const CauchyPoles& poles, const CauchyWeights& weights, const float* y, int64_t nodes,
               const float* dre, const float* dim, const CauchyGradients& gradients) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t n = 0; n < poles.pairs; ++n) {
    for (int64_t r = 0; r < weights.sums; ++r) {
      V du = hn::Zero(d), ds = hn::Zero(d);
      for (int64_t at = 0; at < nodes; at += lanes) {
        const V yt = LoadSome(y + at, nodes - at);
        const Fraction f(poles, n, yt);
        const V ga = hn::Mul(f.g, f.a), ge = hn::Mul(f.g, f.e);
        const V g_re = LoadSome(dre + r * nodes + at, nodes - at),
                g_im = LoadSome(dim + r * nodes + at, nodes - at);
        du = hn::MulAdd(g_re, ga, hn::MulAdd(g_im, ge, du));
        ds = hn::MulAdd(yt, hn::NegMulAdd(g_im, ga, hn::Mul(g_re, ge)), ds);
      }
      gradients.u[r * poles.pairs + n] = -2.0f * Total(du);
      gradients.s[r * poles.pairs + n] = -2.0f * Total(ds);
    }
    V dreal = hn::Zero(d), dsquare = hn::Zero(d);
    for (int64_t at = 0; at < nodes; at += lanes) {
      const V yt = LoadSome(y + at, nodes - at);
      const Fraction f(poles, n, yt);
      V dga = hn::Zero(d), dge = hn::Zero(d);
      for (int64_t r = 0; r < weights.sums; ++r) {
        const V u = hn::Set(d, -2.0f * weights.u[r * poles.pairs + n]);
        const V ys = hn::Mul(yt, hn::Set(d, -2.0f * weights.s[r * poles.pairs + n]));
        const V g_re = LoadSome(dre + r * nodes + at, nodes - at),
                g_im = LoadSome(dim + r * nodes + at, nodes - at);
        dga = hn::MulAdd(g_re, u, hn::NegMulAdd(g_im, ys, dga));
        dge = hn::MulAdd(g_re, ys, hn::MulAdd(g_im, u, dge));
      }
      // dg / da = -2 a g^2 and dg / de = -2 e g^2.
      const V shared =
          hn::Mul(hn::Set(d, -2.0f), hn::Mul(hn::Mul(f.g, f.g), hn::MulAdd(dga, f.a, hn::Mul(dge, f.e))));
      const V da = hn::MulAdd(dga, f.g, hn::Mul(shared, f.a)),
              de = hn::MulAdd(dge, f.g, hn::Mul(shared, f.e));
      dsquare = hn::Add(dsquare, da);
      dreal = hn::MulAdd(hn::Add(yt, yt), de, dreal);
    }
    gradients.real[n] = Total(dreal);
    gradients.square[n] = Total(dsquare);
  }
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
