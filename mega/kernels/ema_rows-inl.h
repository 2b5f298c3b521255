// Rows of a moving average's input and output, with channels in lanes. Included once per instruction set.
#if defined(MEGA_KERNELS_EMA_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEGA_KERNELS_EMA_ROWS_INL_H_
#undef MEGA_KERNELS_EMA_ROWS_INL_H_
#else
#define MEGA_KERNELS_EMA_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "mega/kernels/ema.h"
#include "mega/kernels/math-inl.h"

// Forces unrolling of the loops of a tile, so that its arrays become registers.
#ifndef MEGA_UNROLL
#define MEGA_UNROLL _Pragma("GCC unroll 16")
#endif

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace {

using Tag = hn::CappedTag<float, kEmaLanes>;
using V = hn::Vec<Tag>;

constexpr int64_t kVector = hn::MaxLanes(Tag());
HWY_INLINE int64_t Position(const EmaRows& x, bool reverse, int64_t tau) {
  return reverse ? x.length - 1 - tau : tau;
}

// Loads a vector from a row of `lanes` floats, starting at `lane`, zero-filled beyond its end.
HWY_INLINE V LoadLanes(const float* row, int64_t lane, int64_t lanes) {
  if (HWY_LIKELY(lane + kVector <= lanes)) return hn::LoadU(Tag(), row + lane);
  alignas(64) float part[kVector] = {};
  for (int64_t i = lane; i < lanes; ++i) part[i - lane] = row[i];
  return hn::Load(Tag(), part);
}

HWY_INLINE void StoreLanes(V v, float* row, int64_t lane, int64_t lanes) {
  if (HWY_LIKELY(lane + kVector <= lanes)) return hn::StoreU(v, Tag(), row + lane);
  alignas(64) float part[kVector];
  hn::Store(v, Tag(), part);
  for (int64_t i = lane; i < lanes; ++i) row[i] = part[i - lane];
}

// Loads x at times tau, tau + 1, ...: zero before the start and at padding.
template <int P>
HWY_INLINE void LoadTile(const EmaRows& x, bool reverse, int64_t tau, int64_t lane, V (&tile)[P]) {
  for (int p = 0; p < P; ++p) {
    const int64_t t = Position(x, reverse, tau + p);
    const bool present = tau + p >= 0 && (x.padding == nullptr || x.padding[t] == 0);
    tile[p] = present ? LoadLanes(x.data + t * x.stride, lane, x.lanes) : hn::Zero(Tag());
  }
}

// y = silu(keep (s + y) + skip x), or the parts of it that the output requests.
template <int P>
HWY_INLINE void Finish(const EmaRows& x, const EmaOutput& output, bool reverse, int64_t tau, int64_t lane,
                       V (&s)[P]) {
  const Tag d;
  for (int p = 0; p < P; ++p) {
    const int64_t t = Position(x, reverse, tau + p);
    float* y = output.data + t * output.stride;
    V v = s[p];
    if (output.accumulate) v = hn::Add(v, LoadLanes(y, lane, x.lanes));
    if (output.padding != nullptr && output.padding[t] != 0) v = hn::Zero(d);
    if (output.skip != nullptr) {
      const V skip = LoadLanes(output.skip, lane, x.lanes);
      v = hn::MulAdd(skip, LoadLanes(x.data + t * x.stride, lane, x.lanes), v);
    }
    if (output.linear != nullptr) StoreLanes(v, output.linear + t * output.stride, lane, x.lanes);
    if (output.silu) v = hn::Mul(v, Sigmoid(d, v));
    StoreLanes(v, y, lane, x.lanes);
  }
}

}  // namespace
}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
