#include "mega/kernels/ema.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/ema.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "mega/kernels/denormals.h"
#include "mega/kernels/dispatch.h"
#include "mega/kernels/ema_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace {

// Each tile of time steps processes all averages, one group at a time, with its inputs, sums and the group's
// states and coefficients in registers. These sizes use up the registers.
constexpr bool kManyRegisters = !HWY_ARCH_X86 || HWY_TARGET <= HWY_AVX3;
constexpr int kScanSteps = 4, kScanGroup = kManyRegisters ? 4 : 1;
constexpr int kSlopeSteps = kManyRegisters ? 8 : 4, kSlopeGroup = 2;
// Where q^T is below this, truncating the kernel makes no difference in float32.
constexpr float kNoCut = 1e-12f;
// Inputs that entered and left a state leave rounding errors, which a slow decay preserves, so the state is
// recomputed every kFreshFor * T steps.
constexpr int64_t kFreshFor = 8;

enum class Feed { plain, weighted, cut };

// Runs P steps of G averages.
template <int P, int G, Feed kFeed, bool kEmit>
HWY_INLINE void ScanGroup(const V (&x)[P], const V (&gone)[P], const EmaWeights& weights, int64_t at,
                          float* HWY_RESTRICT state, V (&s)[P]) {
  const Tag d;
  V q[G], c[G], f[G], e[G];
  MEGA_UNROLL for (int i = 0; i < G; ++i) {
    const int64_t row = at + i * kEmaLanes;
    q[i] = hn::LoadU(d, weights.decay + row);
    e[i] = hn::LoadU(d, state + row);
    c[i] = kEmit ? hn::LoadU(d, weights.output + row) : q[i];
    f[i] =
        kFeed == Feed::plain ? q[i] : hn::LoadU(d, (kFeed == Feed::cut ? weights.cut : weights.input) + row);
  }
  MEGA_UNROLL for (int p = 0; p < P; ++p) {
    MEGA_UNROLL for (int i = 0; i < G; ++i) {
      V u = x[p];
      if (kFeed == Feed::weighted) u = hn::Mul(f[i], x[p]);
      if (kFeed == Feed::cut) u = hn::NegMulAdd(f[i], gone[p], x[p]);
      e[i] = hn::MulAdd(q[i], e[i], u);
    }
    MEGA_UNROLL for (int i = 0; kEmit && i < G; ++i) s[p] = hn::MulAdd(c[i], e[i], s[p]);
  }
  MEGA_UNROLL for (int i = 0; i < G; ++i) hn::StoreU(e[i], d, state + at + i * kEmaLanes);
}

template <int G>
HWY_INLINE bool Matters(const float* cut) {
  V largest = hn::LoadU(Tag(), cut);
  MEGA_UNROLL for (int i = 1; i < G; ++i) largest = hn::Max(largest, hn::LoadU(Tag(), cut + i * kEmaLanes));
  return !hn::AllFalse(Tag(), hn::Gt(largest, hn::Set(Tag(), kNoCut)));
}

template <int P, int G, Feed kFeed, bool kEmit>
HWY_INLINE void ScanGroups(const V (&x)[P], const V (&gone)[P], const EmaWeights& weights, int64_t first,
                           int64_t lane, float* HWY_RESTRICT state, V (&s)[P]) {
  for (; first + G <= weights.n; first += G) {
    const int64_t at = first * kEmaLanes + lane;
    if (kFeed == Feed::cut && !Matters<G>(weights.cut + at)) {
      ScanGroup<P, G, Feed::plain, kEmit>(x, gone, weights, at, state, s);
    } else {
      ScanGroup<P, G, kFeed, kEmit>(x, gone, weights, at, state, s);
    }
  }
  if constexpr (G > 1) ScanGroups<P, G / 2, kFeed, kEmit>(x, gone, weights, first, lane, state, s);
}

template <int P, Feed kFeed, bool kEmit>
HWY_INLINE void ScanTile(const EmaRows& x, const EmaWeights& weights, bool reverse, int64_t tau, int64_t lane,
                         float* HWY_RESTRICT state, const EmaOutput* output) {
  V xt[P], gone[P], s[P];
  LoadTile(x, reverse, tau, lane, xt);
  LoadTile(x, reverse, kFeed == Feed::cut ? tau - weights.truncation : tau, lane, gone);
  MEGA_UNROLL for (int p = 0; p < P; ++p) s[p] = hn::Zero(Tag());
  ScanGroups<P, kScanGroup, kFeed, kEmit>(xt, gone, weights, 0, lane, state, s);
  if (kEmit) Finish(x, *output, reverse, tau, lane, s);
}

template <int P, int G, bool kCut, bool kSum>
HWY_INLINE void SlopeGroup(const V (&x)[P], const V (&gone)[P], const V (&g)[P], const EmaWeights& weights,
                           int64_t at, float* HWY_RESTRICT state, float* HWY_RESTRICT slope,
                           float* HWY_RESTRICT sums) {
  const Tag d;
  const int64_t second = weights.n * kEmaLanes;
  V q[G], cut[G], cut_slope[G], e[G], de[G], sum[G], slope_sum[G];
  MEGA_UNROLL for (int i = 0; i < G; ++i) {
    const int64_t row = at + i * kEmaLanes;
    q[i] = hn::LoadU(d, weights.decay + row);
    cut[i] = kCut ? hn::LoadU(d, weights.cut + row) : q[i];
    cut_slope[i] = kCut ? hn::LoadU(d, weights.cut_slope + row) : q[i];
    e[i] = hn::LoadU(d, state + row);
    de[i] = hn::LoadU(d, slope + row);
    sum[i] = kSum ? hn::LoadU(d, sums + row) : q[i];
    slope_sum[i] = kSum ? hn::LoadU(d, sums + second + row) : q[i];
  }
  MEGA_UNROLL for (int p = 0; p < P; ++p) {
    MEGA_UNROLL for (int i = 0; i < G; ++i) {
      de[i] = hn::MulAdd(q[i], de[i], kCut ? hn::NegMulAdd(cut_slope[i], gone[p], e[i]) : e[i]);
      e[i] = hn::MulAdd(q[i], e[i], kCut ? hn::NegMulAdd(cut[i], gone[p], x[p]) : x[p]);
    }
    MEGA_UNROLL for (int i = 0; kSum && i < G; ++i) {
      sum[i] = hn::MulAdd(g[p], e[i], sum[i]);
      slope_sum[i] = hn::MulAdd(g[p], de[i], slope_sum[i]);
    }
  }
  MEGA_UNROLL for (int i = 0; i < G; ++i) {
    const int64_t row = at + i * kEmaLanes;
    hn::StoreU(e[i], d, state + row);
    hn::StoreU(de[i], d, slope + row);
    if (kSum) hn::StoreU(sum[i], d, sums + row);
    if (kSum) hn::StoreU(slope_sum[i], d, sums + second + row);
  }
}

template <int P, int G, bool kCut, bool kSum>
HWY_INLINE void SlopeGroups(const V (&x)[P], const V (&gone)[P], const V (&g)[P], const EmaWeights& weights,
                            int64_t first, int64_t lane, float* HWY_RESTRICT state, float* HWY_RESTRICT slope,
                            float* HWY_RESTRICT sums) {
  for (; first + G <= weights.n; first += G) {
    const int64_t at = first * kEmaLanes + lane;
    if (kCut && !Matters<G>(weights.cut + at)) {
      SlopeGroup<P, G, false, kSum>(x, gone, g, weights, at, state, slope, sums);
    } else {
      SlopeGroup<P, G, kCut, kSum>(x, gone, g, weights, at, state, slope, sums);
    }
  }
  if constexpr (G > 1)
    SlopeGroups<P, G / 2, kCut, kSum>(x, gone, g, weights, first, lane, state, slope, sums);
}

template <int P, bool kCut, bool kSum>
HWY_INLINE void SlopeTile(const EmaRows& x, const EmaWeights& weights, bool reverse, int64_t tau,
                          int64_t lane, float* HWY_RESTRICT state, float* HWY_RESTRICT slope, const float* g,
                          float* HWY_RESTRICT sums) {
  V xt[P], gone[P], gt[P];
  LoadTile(x, reverse, tau, lane, xt);
  LoadTile(x, reverse, kCut ? tau - weights.truncation : tau, lane, gone);
  MEGA_UNROLL for (int p = 0; p < P; ++p) {
    gt[p] = kSum ? hn::LoadU(Tag(), g + Position(x, reverse, tau + p) * kEmaLanes + lane) : xt[p];
  }
  SlopeGroups<P, kSlopeGroup, kCut, kSum>(xt, gone, gt, weights, 0, lane, state, slope, sums);
}

// A scan with a truncated kernel: no input leaves before T, and the state is recomputed periodically.
template <class Tiles>
HWY_INLINE void RunCut(const Tiles& tiles, int64_t truncation, const EmaTime& time) {
  int64_t tau = std::clamp(truncation, time.begin, time.end);
  tiles.Plain({time.begin, tau, time.reverse});
  while (tau < time.end) {
    const int64_t next = std::min(tau + kFreshFor * truncation, time.end);
    tiles.Cut({tau, next, time.reverse});
    tau = next;
    if (tau < time.end) tiles.Renew({tau - truncation, tau, time.reverse});
  }
}

void Clear(const EmaWeights& weights, float* state) { std::fill_n(state, weights.n * kEmaLanes, 0.0f); }

struct ScanTiles {
  const EmaRows& x;
  const EmaWeights& weights;
  float* state;
  const EmaOutput* output;

  template <Feed kFeed>
  void Run(const EmaTime& time) const {
    if (output == nullptr) {
      RunAs<kFeed, false>(time);
    } else {
      RunAs<kFeed, true>(time);
    }
  }

  template <Feed kFeed, bool kEmit>
  HWY_NOINLINE void RunAs(const EmaTime& time) const {
    int64_t tau = time.begin;
    for (; tau + kScanSteps <= time.end; tau += kScanSteps)
      RunTile<kScanSteps, kFeed, kEmit>(time.reverse, tau);
    for (; tau < time.end; ++tau) RunTile<1, kFeed, kEmit>(time.reverse, tau);
  }

  template <int P, Feed kFeed, bool kEmit>
  HWY_INLINE void RunTile(bool reverse, int64_t tau) const {
    for (int64_t lane = 0; lane < x.lanes; lane += kVector)
      ScanTile<P, kFeed, kEmit>(x, weights, reverse, tau, lane, state, output);
  }

  void Plain(const EmaTime& time) const { Run<Feed::plain>(time); }
  void Cut(const EmaTime& time) const { Run<Feed::cut>(time); }
  void Renew(const EmaTime& time) const {
    Clear(weights, state);
    RunAs<Feed::plain, false>(time);
  }
};

void Scan(const EmaRows& x, const EmaWeights& weights, const EmaTime& time, float* state,
          const EmaOutput* output) {
  const FlushDenormals flush;
  const ScanTiles tiles{x, weights, state, output};
  if (weights.input != nullptr) {
    tiles.Run<Feed::weighted>(time);
  } else if (weights.truncation > 0) {
    RunCut(tiles, weights.truncation, time);
  } else {
    tiles.Plain(time);
  }
}

struct SlopeTiles {
  const EmaRows& x;
  const EmaWeights& weights;
  float* state;
  float* slope;
  const float* g;
  float* sums;

  template <bool kCut>
  void Run(const EmaTime& time) const {
    if (g == nullptr) {
      RunAs<kCut, false>(time);
    } else {
      RunAs<kCut, true>(time);
    }
  }

  template <bool kCut, bool kSum>
  HWY_NOINLINE void RunAs(const EmaTime& time) const {
    int64_t tau = time.begin;
    for (; tau + kSlopeSteps <= time.end; tau += kSlopeSteps)
      RunTile<kSlopeSteps, kCut, kSum>(time.reverse, tau);
    for (; tau < time.end; ++tau) RunTile<1, kCut, kSum>(time.reverse, tau);
  }

  template <int P, bool kCut, bool kSum>
  HWY_INLINE void RunTile(bool reverse, int64_t tau) const {
    for (int64_t lane = 0; lane < x.lanes; lane += kVector)
      SlopeTile<P, kCut, kSum>(x, weights, reverse, tau, lane, state, slope, g, sums);
  }

  void Plain(const EmaTime& time) const { Run<false>(time); }
  void Cut(const EmaTime& time) const { Run<true>(time); }
  void Renew(const EmaTime& time) const {
    Clear(weights, state);
    Clear(weights, slope);
    RunAs<false, false>(time);
  }
};

void Slope(const EmaRows& x, const EmaWeights& weights, const EmaTime& time, float* state, float* slope,
           const float* g, float* sums) {
  const FlushDenormals flush;
  const SlopeTiles tiles{x, weights, state, slope, g, sums};
  if (weights.truncation > 0) {
    RunCut(tiles, weights.truncation, time);
  } else {
    tiles.Plain(time);
  }
}

void OutputGradient(const EmaRows& x, const float* dy, const float* linear, int64_t begin, int64_t end,
                    float* g, float* dskip) {
  const Tag d;
  const V one = hn::Set(d, 1.0f);
  for (int64_t lane = 0; lane < kEmaLanes; lane += kVector) {
    V sum = hn::Zero(d);
    for (int64_t t = begin; t < end; ++t) {
      V v = LoadLanes(dy + t * x.stride, lane, x.lanes);
      if (linear != nullptr) {  // silu'(s) = sigma (1 + s (1 - sigma))
        const V s = LoadLanes(linear + t * x.stride, lane, x.lanes);
        const V sigma = Sigmoid(d, s);
        v = hn::Mul(v, hn::Mul(sigma, hn::MulAdd(s, hn::Sub(one, sigma), one)));
      }
      hn::StoreU(v, d, g + t * kEmaLanes + lane);
      sum = hn::MulAdd(v, LoadLanes(x.data + t * x.stride, lane, x.lanes), sum);
    }
    if (dskip != nullptr) hn::StoreU(hn::Add(sum, hn::LoadU(d, dskip + lane)), d, dskip + lane);
  }
}

// h = q h + b x for averages [first, n), as many full vectors of D as fit; returns sum c h.
template <class D>
HWY_INLINE float StepAverages(D d, const EmaStep& step, int64_t& first, int64_t row, float x,
                              const float* state, float* next) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (first + lanes > step.n) return 0.0f;
  const auto xs = hn::Set(d, x);
  auto sum = hn::Zero(d);
  for (; first + lanes <= step.n; first += lanes) {
    const int64_t at = row * step.n + first;
    const auto h = hn::MulAdd(hn::LoadU(d, step.decay + at), hn::LoadU(d, state + at),
                              hn::Mul(hn::LoadU(d, step.input + at), xs));
    hn::StoreU(h, d, next + at);
    sum = hn::MulAdd(hn::LoadU(d, step.output + at), h, sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void Step(const EmaStep& step, int64_t begin, int64_t end, const float* x, const float* state, float* next,
          float* y) {
  const FlushDenormals flush;
  const Tag d;
  const hn::CappedTag<float, 4> quads;
  const hn::CappedTag<float, 1> single;
  alignas(64) float block[kEmaLanes] = {};
  for (int64_t at = begin; at < end; at += kEmaLanes) {
    const int64_t count = std::min(kEmaLanes, end - at);
    for (int64_t i = 0; i < count; ++i) {
      const float xt = step.padded ? 0.0f : x[at + i];
      int64_t first = 0;
      float s = StepAverages(d, step, first, at + i, xt, state, next);
      s += StepAverages(quads, step, first, at + i, xt, state, next);
      s += StepAverages(single, step, first, at + i, xt, state, next);
      block[i] = step.skip == nullptr ? s : s + step.skip[at + i] * x[at + i];
    }
    for (int64_t i = 0; step.silu && i < count; i += kVector) {
      const V v = hn::Load(d, block + i);
      hn::Store(hn::Mul(v, Sigmoid(d, v)), d, block + i);
    }
    std::copy_n(block, count, y + at);
  }
}

}  // namespace
}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

void ema_pack(const float* rows, int64_t width, int64_t n, float* packed) {
  const int64_t groups = ema_groups(width);
  for (int64_t channel = 0; channel < groups * kEmaLanes; ++channel) {
    float* lane = packed + channel / kEmaLanes * n * kEmaLanes + channel % kEmaLanes;
    for (int64_t i = 0; i < n; ++i) lane[i * kEmaLanes] = channel < width ? rows[channel * n + i] : 0.0f;
  }
}

void ema_unpack(const float* packed, int64_t width, int64_t n, float* rows) {
  for (int64_t channel = 0; channel < width; ++channel) {
    const float* lane = packed + channel / kEmaLanes * n * kEmaLanes + channel % kEmaLanes;
    for (int64_t i = 0; i < n; ++i) rows[channel * n + i] = lane[i * kEmaLanes];
  }
}

MEGA_EXPORT(Scan);
MEGA_EXPORT(Slope);
MEGA_EXPORT(OutputGradient);
MEGA_EXPORT(Step);

void ema_scan(const EmaRows& x, const EmaWeights& weights, const EmaTime& time, float* state,
              const EmaOutput* output) {
  MEGA_DISPATCH(Scan)(x, weights, time, state, output);
}

void ema_slope(const EmaRows& x, const EmaWeights& weights, const EmaTime& time, float* state, float* slope,
               const float* g, float* sums) {
  MEGA_DISPATCH(Slope)(x, weights, time, state, slope, g, sums);
}

void ema_output_gradient(const EmaRows& x, const float* dy, const float* linear, int64_t begin, int64_t end,
                         float* g, float* dskip) {
  MEGA_DISPATCH(OutputGradient)(x, dy, linear, begin, end, g, dskip);
}

void ema_step(const EmaStep& step, int64_t begin, int64_t end, const float* x, const float* state,
              float* next, float* y) {
  MEGA_DISPATCH(Step)(step, begin, end, x, state, next, y);
}

}  // namespace mega::kernels
#endif
