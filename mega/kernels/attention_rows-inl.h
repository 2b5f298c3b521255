// Rows of scores within a tile, of any kind of attention kernel: what masks them, and how they become
// weights. Included once per instruction set.
#if defined(MEGA_KERNELS_ATTENTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEGA_KERNELS_ATTENTION_ROWS_INL_H_
#undef MEGA_KERNELS_ATTENTION_ROWS_INL_H_
#else
#define MEGA_KERNELS_ATTENTION_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "mega/kernels/attention.h"
#include "mega/kernels/attention_weight-inl.h"

#ifndef MEGA_KERNELS_ATTENTION_ROWS_ONCE
#define MEGA_KERNELS_ATTENTION_ROWS_ONCE
namespace mega::kernels {

// Tile sizes: one tile of packed keys and values and its scores fit into the L2 cache.
inline constexpr int64_t kQueryTile = 64;
inline constexpr int64_t kKeyTile = 128;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Hands out parts of the caller's scratch buffer, aligned for any vector.
class Scratch {
 public:
  explicit Scratch(float* data) : next_(data) {}
  float* take(int64_t floats) {
    float* piece = next_;
    next_ += round_up(floats, 64);
    return piece;
  }
  template <class Element>  // of 32 bits
  Element* take_elements(int64_t count) {
    static_assert(sizeof(Element) == sizeof(float));
    return reinterpret_cast<Element*>(take(count));
  }

 private:
  float* next_;
};

}  // namespace mega::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

// The parameters of one row of scores within a tile.
struct ScoreRow {
  float scale;
  const float* bias;    // at the first key of the tile, or null
  const float* hidden;  // 0 for a visible key, -inf for padding and beyond the last key
  int64_t visible;      // keys of the tile that the causal mask lets this query see
};

template <class T>
HWY_INLINE ScoreRow RowOf(const AttentionBlockOf<T>& block, int64_t query, int64_t first_key, int64_t keys,
                          const float* hidden) {
  const int64_t position = block.first_position + query;
  const float scale = block.scale_by_position ? block.scale / static_cast<float>(position + 1) : block.scale;
  const float* bias = block.bias == nullptr ? nullptr : block.bias + (first_key - position);
  const int64_t visible = block.causal ? std::clamp<int64_t>(position + 1 - first_key, 0, keys) : keys;
  return {scale, bias, hidden, visible};
}

// Scores of `lanes` keys starting at column c, -inf where a key is masked.
HWY_INLINE Vector Score(Floats d, const ScoreRow& row, const float* products, int64_t c) {
  Vector s = hn::Load(d, products + c);
  s = row.bias == nullptr ? hn::Mul(s, hn::Set(d, row.scale))
                          : hn::MulAdd(s, hn::Set(d, row.scale), hn::LoadU(d, row.bias + c));
  s = hn::Add(s, hn::Load(d, row.hidden + c));
  const int64_t left = row.visible - c;
  if (left >= static_cast<int64_t>(hn::Lanes(d))) return s;
  return hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(left)), s, hn::Set(d, -kInfinity));
}

template <class T>
void FillHidden(const AttentionBlockOf<T>& block, int64_t first, int64_t count, int64_t width,
                float* hidden) {
  for (int64_t j = 0; j < width; ++j) {
    const bool seen = j < count && (block.padding == nullptr || block.padding[first + j] == 0);
    hidden[j] = seen ? 0.0f : -kInfinity;
  }
}

// Turns a row of products into exp(s - maximum), an online softmax over the tiles so far; returns the factor
// by which the earlier tiles' sums must be rescaled.
template <Accuracy kAccuracy>
HWY_INLINE float SoftmaxRow(const ScoreRow& row, int64_t width, float* products, float& maximum, float& sum) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t end = std::min(width, round_up(row.visible, lanes));
  Vector largest = hn::Set(d, maximum);
  for (int64_t c = 0; c < end; c += lanes) {
    const Vector s = Score(d, row, products, c);
    largest = hn::Max(largest, s);
    hn::Store(s, d, products + c);
  }
  const float previous = maximum;
  maximum = hn::GetLane(hn::MaxOfLanes(d, largest));
  const float added = ExpScores<kAccuracy>(products, end, maximum);
  for (int64_t c = end; c < width; c += lanes) hn::Store(hn::Zero(d), d, products + c);
  const float correction = maximum == previous ? 1.0f : std::exp(previous - maximum);
  sum = sum * correction + added;
  return correction;
}

template <AttentionFunction kFunction, Accuracy kAccuracy>
HWY_INLINE void WeightRow(const ScoreRow& row, int64_t width, float* products) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t end = std::min(width, round_up(row.visible, lanes));
  for (int64_t c = 0; c < end; c += lanes)
    hn::Store(Weight<kFunction, kAccuracy>(d, Score(d, row, products, c)).value, d, products + c);
  for (int64_t c = end; c < width; c += lanes) hn::Store(hn::Zero(d), d, products + c);
}

HWY_INLINE void ScaleRow(float* x, int64_t n, float factor) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
