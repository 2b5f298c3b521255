#include "mega/kernels/complex_ema.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/complex_ema.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "mega/kernels/denormals.h"
#include "mega/kernels/dispatch.h"
#include "mega/kernels/ema_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace {

// P steps of all averages of the channels of a vector: six multiply-adds for each.
template <int P>
HWY_INLINE void ComplexTile(const EmaRows& x, const ComplexEmaWeights& weights, bool reverse, int64_t tau,
                            int64_t lane, float* HWY_RESTRICT state, const EmaOutput& output) {
  const Tag d;
  V xt[P], s[P];
  LoadTile(x, reverse, tau, lane, xt);
  MEGA_UNROLL for (int p = 0; p < P; ++p) s[p] = hn::Zero(d);
  for (int64_t n = 0; n < weights.n; ++n) {
    const int64_t re = 2 * n * kEmaLanes + lane, im = re + kEmaLanes;
    const V q_re = hn::LoadU(d, weights.decay + re), q_im = hn::LoadU(d, weights.decay + im);
    const V c_re = hn::LoadU(d, weights.output + re), c_im = hn::LoadU(d, weights.output + im);
    const V b = hn::LoadU(d, weights.input + n * kEmaLanes + lane);
    V h_re = hn::LoadU(d, state + re), h_im = hn::LoadU(d, state + im);
    MEGA_UNROLL for (int p = 0; p < P; ++p) {
      const V turned = hn::MulAdd(q_re, h_im, hn::Mul(q_im, h_re));
      h_re = hn::MulAdd(q_re, h_re, hn::NegMulAdd(q_im, h_im, hn::Mul(b, xt[p])));
      h_im = turned;
      s[p] = hn::MulAdd(c_re, h_re, hn::NegMulAdd(c_im, h_im, s[p]));
    }
    hn::StoreU(h_re, d, state + re);
    hn::StoreU(h_im, d, state + im);
  }
  Finish(x, output, reverse, tau, lane, s);
}

void ComplexScan(const EmaRows& x, const ComplexEmaWeights& weights, const EmaTime& time, float* state,
                 const EmaOutput& output) {
  const FlushDenormals flush;
  constexpr int kSteps = 8;
  for (int64_t lane = 0; lane < x.lanes; lane += kVector) {
    int64_t tau = time.begin;
    for (; tau + kSteps <= time.end; tau += kSteps)
      ComplexTile<kSteps>(x, weights, time.reverse, tau, lane, state, output);
    for (; tau < time.end; ++tau) ComplexTile<1>(x, weights, time.reverse, tau, lane, state, output);
  }
}

}  // namespace
}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(ComplexScan);

void complex_ema_scan(const EmaRows& x, const ComplexEmaWeights& weights, const EmaTime& time, float* state,
                      const EmaOutput& output) {
  MEGA_DISPATCH(ComplexScan)(x, weights, time, state, output);
}

}  // namespace mega::kernels
#endif
