#include "mega/kernels/attention.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mega/kernels/attention_weight-inl.h"
#include "mega/kernels/dispatch.h"
#include "mega/kernels/dropout-inl.h"
#include "mega/kernels/matmul-inl.h"

#ifndef MEGA_ATTENTION_ONCE
#define MEGA_ATTENTION_ONCE
namespace mega::kernels {
namespace {

// Tile sizes: one tile of packed keys and values and its scores fit into the L2 cache.
constexpr int64_t kQueryTile = 64;
constexpr int64_t kKeyTile = 128;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Hands out parts of the caller's scratch buffer, aligned for any vector.
class Scratch {
 public:
  explicit Scratch(float* data) : next_(data) {}
  float* take(int64_t floats) {
    float* piece = next_;
    next_ += round_up(floats, 64);
    return piece;
  }

 private:
  float* next_;
};

}  // namespace
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

HWY_INLINE ScoreRow RowOf(const AttentionBlock& block, int64_t query, int64_t first_key, int64_t keys,
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

void FillHidden(const AttentionBlock& block, int64_t first, int64_t count, int64_t width, float* hidden) {
  for (int64_t j = 0; j < width; ++j) {
    const bool seen = j < count && (block.padding == nullptr || block.padding[first + j] == 0);
    hidden[j] = seen ? 0.0f : -kInfinity;
  }
}

// Multiplies a row of weights by its dropout mask.
HWY_INLINE void DropRow(const AttentionBlock& block, int64_t query, int64_t first_key, int64_t width,
                        float* weights) {
  const Floats d;
  const DropoutRow<Floats> mask(d, block.dropout, block.dropout_row + static_cast<uint64_t>(query));
  for (int64_t c = 0; c < width; c += static_cast<int64_t>(hn::Lanes(d)))
    hn::Store(hn::Mul(hn::Load(d, weights + c), mask.Factor(d, first_key + c)), d, weights + c);
}

// Turns a row of products into exp(s - maximum), an online softmax over the tiles so far; returns the factor
// by which the earlier tiles' sums must be rescaled.
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
  const float added = ExpScores(products, end, maximum);
  for (int64_t c = end; c < width; c += lanes) hn::Store(hn::Zero(d), d, products + c);
  const float correction = maximum == previous ? 1.0f : std::exp(previous - maximum);
  sum = sum * correction + added;
  return correction;
}

template <AttentionFunction kFunction>
HWY_INLINE void WeightRow(const ScoreRow& row, int64_t width, float* products) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t end = std::min(width, round_up(row.visible, lanes));
  for (int64_t c = 0; c < end; c += lanes)
    hn::Store(Weight<kFunction>(d, Score(d, row, products, c)).value, d, products + c);
  for (int64_t c = end; c < width; c += lanes) hn::Store(hn::Zero(d), d, products + c);
}

HWY_INLINE void ScaleRow(float* x, int64_t n, float factor) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

template <AttentionFunction kFunction>
void Forward(const AttentionBlock& block, int64_t begin, int64_t end, float* HWY_RESTRICT out,
             int64_t out_stride, float* HWY_RESTRICT normalizer, float* scratch_memory) {
  constexpr bool kSoftmax = kFunction == AttentionFunction::softmax;
  Scratch scratch(scratch_memory);
  float* keys_packed = scratch.take(PackedSize(block.shared, kKeyTile));
  float* values_packed = scratch.take(PackedSize(kKeyTile, block.values));
  float* scores = scratch.take(kQueryTile * kKeyTile);
  float* hidden = scratch.take(kKeyTile);
  float* maxima = scratch.take(end - begin) - begin;
  float* sums = scratch.take(end - begin) - begin;
  std::fill(maxima + begin, maxima + end, -kInfinity);
  std::fill(sums + begin, sums + end, 0.0f);

  const int64_t last_position = block.first_position + end - 1;
  const int64_t keys = block.causal ? std::min(block.keys, last_position + 1) : block.keys;
  for (int64_t j = 0; j < keys; j += kKeyTile) {
    const int64_t count = std::min(kKeyTile, keys - j);
    const int64_t width = round_up(count, PanelWidth());
    PackPanels(block.k + j * block.k_stride, 1, block.k_stride, block.shared, count, keys_packed);
    PackPanels(block.v + j * block.v_stride, block.v_stride, 1, count, block.values, values_packed);
    FillHidden(block, j, count, width, hidden);
    for (int64_t i = begin; i < end; i += kQueryTile) {
      const int64_t rows = std::min(kQueryTile, end - i);
      if (block.causal && block.first_position + i + rows <= j) continue;
      Multiply<false>(rows, width, block.shared, {block.q + i * block.q_stride, block.q_stride, 1},
                      keys_packed, scores, kKeyTile);
      for (int64_t r = 0; r < rows; ++r) {
        const ScoreRow row = RowOf(block, i + r, j, count, hidden);
        float* products = scores + r * kKeyTile;
        if constexpr (kSoftmax) {
          const float correction = SoftmaxRow(row, width, products, maxima[i + r], sums[i + r]);
          if (j > 0 && correction != 1.0f) ScaleRow(out + (i + r) * out_stride, block.values, correction);
        } else {
          WeightRow<kFunction>(row, width, products);
        }
        if (block.dropout.active()) DropRow(block, i + r, j, width, products);
      }
      const LeftFactor weights{scores, kKeyTile, 1};
      if (j == 0) {
        Multiply<false>(rows, block.values, count, weights, values_packed, out + i * out_stride, out_stride);
      } else {
        Multiply<true>(rows, block.values, count, weights, values_packed, out + i * out_stride, out_stride);
      }
    }
  }
  if constexpr (kSoftmax) {
    for (int64_t i = begin; i < end; ++i) {
      const bool blind = sums[i] == 0.0f;
      normalizer[i] = blind ? kInfinity : maxima[i] + std::log(sums[i]);
      ScaleRow(out + i * out_stride, block.values, blind ? 0.0f : 1.0f / sums[i]);
    }
  }
}

// Computes a row of weights and score gradients from the products q.k and dout.v. On return `products` holds
// the weights (with dropout) and `dproducts` the gradient of q.k.
template <AttentionFunction kFunction>
HWY_INLINE void BackwardRow(const AttentionBlock& block, const AttentionGradients& gradients,
                            const ScoreRow& row, int64_t query, int64_t first_key, int64_t width,
                            float* HWY_RESTRICT products, float* HWY_RESTRICT dproducts) {
  constexpr bool kSoftmax = kFunction == AttentionFunction::softmax;
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  float inner = 0.0f, normalizer = 0.0f;
  if constexpr (kSoftmax) {
    // sum_j p_j dp_j = dout . out
    const float* out = gradients.out + query * gradients.out_stride;
    const float* dout = gradients.dout + query * gradients.dout_stride;
    Vector sum = hn::Zero(d);
    int64_t c = 0;
    for (; c + lanes <= block.values; c += lanes)
      sum = hn::MulAdd(hn::LoadU(d, out + c), hn::LoadU(d, dout + c), sum);
    inner = hn::GetLane(hn::SumOfLanes(d, sum));
    for (; c < block.values; ++c) inner += out[c] * dout[c];
    normalizer = gradients.normalizer[query];
  }
  const bool drop = block.dropout.active();
  const DropoutRow<Floats> mask(d, block.dropout, block.dropout_row + static_cast<uint64_t>(query));
  const int64_t position = block.first_position + query;
  float* dbias = gradients.dbias == nullptr ? nullptr : gradients.dbias + (first_key - position);
  const int64_t end = std::min(width, round_up(row.visible, lanes));
  for (int64_t c = 0; c < end; c += lanes) {
    const Vector s = Score(d, row, products, c);
    Vector dp = hn::Load(d, dproducts + c);
    Vector factor = hn::Zero(d);
    if (drop) {
      factor = mask.Factor(d, first_key + c);
      dp = hn::Mul(dp, factor);
    }
    Vector p, ds;
    if constexpr (kSoftmax) {
      p = BoundedExp(d, hn::Sub(s, hn::Set(d, normalizer)));
      ds = hn::Mul(p, hn::Sub(dp, hn::Set(d, inner)));
    } else {
      const ValueAndSlope weight = Weight<kFunction>(d, s);
      p = weight.value;
      ds = hn::Mul(weight.slope, dp);
    }
    hn::Store(drop ? hn::Mul(p, factor) : p, d, products + c);
    if (dbias != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, dbias + c), ds), d, dbias + c);
    hn::Store(hn::Mul(ds, hn::Set(d, row.scale)), d, dproducts + c);
  }
  for (int64_t c = end; c < width; c += lanes) {
    hn::Store(hn::Zero(d), d, products + c);
    hn::Store(hn::Zero(d), d, dproducts + c);
  }
}

template <AttentionFunction kFunction>
void Backward(const AttentionBlock& block, int64_t begin, int64_t end, const AttentionGradients& gradients,
              float* scratch_memory) {
  Scratch scratch(scratch_memory);
  float* keys_transposed = scratch.take(PackedSize(block.shared, kKeyTile));
  float* keys_packed = scratch.take(PackedSize(kKeyTile, block.shared));
  float* values_transposed = scratch.take(PackedSize(block.values, kKeyTile));
  float* queries_packed = scratch.take(PackedSize(kQueryTile, block.shared));
  float* dout_packed = scratch.take(PackedSize(kQueryTile, block.values));
  float* scores = scratch.take(kQueryTile * kKeyTile);
  float* dscores = scratch.take(kQueryTile * kKeyTile);
  float* hidden = scratch.take(kKeyTile);

  for (int64_t j = begin; j < end; j += kKeyTile) {
    const int64_t count = std::min(kKeyTile, end - j);
    const int64_t width = round_up(count, PanelWidth());
    const float* k = block.k + j * block.k_stride;
    const float* v = block.v + j * block.v_stride;
    float* dk = gradients.dk + j * gradients.dk_stride;
    float* dv = gradients.dv + j * gradients.dv_stride;
    PackPanels(k, 1, block.k_stride, block.shared, count, keys_transposed);
    PackPanels(k, block.k_stride, 1, count, block.shared, keys_packed);
    PackPanels(v, 1, block.v_stride, block.values, count, values_transposed);
    FillHidden(block, j, count, width, hidden);
    for (int64_t c = 0; c < count; ++c) {
      std::fill_n(dk + c * gradients.dk_stride, block.shared, 0.0f);
      std::fill_n(dv + c * gradients.dv_stride, block.values, 0.0f);
    }
    const int64_t first = block.causal ? std::max<int64_t>(0, j - block.first_position) : 0;
    for (int64_t i = first; i < block.queries; i += kQueryTile) {
      const int64_t rows = std::min(kQueryTile, block.queries - i);
      const float* q = block.q + i * block.q_stride;
      const float* dout = gradients.dout + i * gradients.dout_stride;
      PackPanels(q, block.q_stride, 1, rows, block.shared, queries_packed);
      PackPanels(dout, gradients.dout_stride, 1, rows, block.values, dout_packed);
      Multiply<false>(rows, width, block.shared, {q, block.q_stride, 1}, keys_transposed, scores, kKeyTile);
      Multiply<false>(rows, width, block.values, {dout, gradients.dout_stride, 1}, values_transposed, dscores,
                      kKeyTile);
      for (int64_t r = 0; r < rows; ++r) {
        const ScoreRow row = RowOf(block, i + r, j, count, hidden);
        BackwardRow<kFunction>(block, gradients, row, i + r, j, width, scores + r * kKeyTile,
                               dscores + r * kKeyTile);
      }
      Multiply<true>(count, block.values, rows, {scores, 1, kKeyTile}, dout_packed, dv, gradients.dv_stride);
      Multiply<true>(count, block.shared, rows, {dscores, 1, kKeyTile}, queries_packed, dk,
                     gradients.dk_stride);
      Multiply<true>(rows, block.shared, count, {dscores, kKeyTile, 1}, keys_packed,
                     gradients.dq + i * gradients.dq_stride, gradients.dq_stride);
    }
  }
}

void ForwardDispatch(const AttentionBlock& block, int64_t begin, int64_t end, float* out, int64_t out_stride,
                     float* normalizer, float* scratch) {
  switch (block.function) {
    case AttentionFunction::softmax:
      return Forward<AttentionFunction::softmax>(block, begin, end, out, out_stride, normalizer, scratch);
    case AttentionFunction::relu2:
      return Forward<AttentionFunction::relu2>(block, begin, end, out, out_stride, normalizer, scratch);
    case AttentionFunction::laplace:
      return Forward<AttentionFunction::laplace>(block, begin, end, out, out_stride, normalizer, scratch);
  }
}

void BackwardDispatch(const AttentionBlock& block, int64_t begin, int64_t end,
                      const AttentionGradients& gradients, float* scratch) {
  switch (block.function) {
    case AttentionFunction::softmax:
      return Backward<AttentionFunction::softmax>(block, begin, end, gradients, scratch);
    case AttentionFunction::relu2:
      return Backward<AttentionFunction::relu2>(block, begin, end, gradients, scratch);
    case AttentionFunction::laplace:
      return Backward<AttentionFunction::laplace>(block, begin, end, gradients, scratch);
  }
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(ForwardDispatch);
MEGA_EXPORT(BackwardDispatch);

int64_t attention_scratch(int64_t queries, int64_t shared, int64_t values) {
  // Panels are at most 64 columns wide; the backward pass needs more than the forward pass.
  const int64_t z = round_up(shared, 64), v = round_up(values, 64);
  const int64_t packed = kKeyTile * (2 * z + v) + kQueryTile * (z + v);
  return packed + 2 * kQueryTile * kKeyTile + kKeyTile + 2 * round_up(queries, 64) + 16 * 64;
}

void attention_forward(const AttentionBlock& block, int64_t begin, int64_t end, float* out,
                       int64_t out_stride, float* normalizer, float* scratch) {
  if (begin >= end) return;
  MEGA_DISPATCH(ForwardDispatch)(block, begin, end, out, out_stride, normalizer, scratch);
}

void attention_backward(const AttentionBlock& block, int64_t begin, int64_t end,
                        const AttentionGradients& gradients, float* scratch) {
  if (begin >= end) return;
  MEGA_DISPATCH(BackwardDispatch)(block, begin, end, gradients, scratch);
}

}  // namespace mega::kernels
#endif
