#include "mega/kernels/attention.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "mega/kernels/attention_rows-inl.h"
#include "mega/kernels/dispatch.h"
#include "mega/kernels/dropout-inl.h"
#include "mega/kernels/matmul-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

// What the products of a block are made of: the left factors that are not packed. Of float, inputs and tiles
// of scores are multiplied where they are.
struct WideFactors {
  using Input = float;
  using Element = float;
  using Product = FloatProduct;
  static constexpr Accuracy kAccuracy = Accuracy::full;  // of weights
  static constexpr bool kCopies = false;
  static HWY_INLINE LeftFactor<float> Rows(const float* x, int64_t stride, int64_t, int64_t, float*) {
    return {x, stride, 1};
  }
  static HWY_INLINE LeftFactor<float> Tile(const float* tile, int64_t, int64_t, float*) {
    return {tile, kKeyTile, 1};
  }
  static HWY_INLINE LeftFactor<float> Transposed(const float* tile, int64_t, int64_t, float*) {
    return {tile, 1, kKeyTile};
  }
};

// Of bf16, they are copied as pairs: of neighbouring columns, or for a transposed tile of neighbouring rows.
template <PairArithmetic kArithmetic>
struct NarrowFactors {
  using Input = uint16_t;
  using Element = Pair;
  using Product = PairProduct<kArithmetic>;
  static constexpr Accuracy kAccuracy = Accuracy::bf16;
  static constexpr bool kCopies = true;
  static HWY_INLINE LeftFactor<Pair> Rows(const uint16_t* x, int64_t stride, int64_t rows, int64_t columns,
                                          Pair* pairs) {
    const int64_t depth = Product::Depth(columns);
    for (int64_t r = 0; r < rows; ++r) {
      std::fill(pairs + r * depth + columns / 2, pairs + (r + 1) * depth, 0);
      std::memcpy(pairs + r * depth, x + r * stride, static_cast<size_t>(columns) * sizeof(uint16_t));
    }
    return {pairs, depth, 1};
  }
  static HWY_INLINE LeftFactor<Pair> Tile(const float* tile, int64_t rows, int64_t width, Pair* pairs) {
    const WholeView view;
    auto* narrow = reinterpret_cast<uint16_t*>(pairs);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < width; c += static_cast<int64_t>(hn::Lanes(Floats())))
        view.Store(view.Load(tile + r * kKeyTile + c), narrow + r * kKeyTile + c);
    return {pairs, kKeyTile / 2, 1};
  }
  static HWY_INLINE LeftFactor<Pair> Transposed(const float* tile, int64_t rows, int64_t width, Pair* pairs) {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(Floats()));
#if HWY_TARGET == HWY_AVX3
    if constexpr (Product::kTiles) {
      constexpr int64_t kStride = kQueryTile / 2;
      for (int64_t r = 0; r < rows; r += 2 * kWordLanes)
        for (int64_t c = 0; c < width; c += lanes) {
          WordVector block[kWordLanes];
          for (int p = 0; p < kWordLanes; ++p) block[p] = RowPairs(tile, rows, r + 2 * p, c);
          Transpose(block);
          for (int p = 0; p < kWordLanes; ++p)
            hn::Store(block[p], Pairs(), pairs + (c + p) * kStride + r / 2);
        }
      return {pairs, kStride, 1};
    }
#endif
    for (int64_t r = 0; r < rows; r += 2)
      for (int64_t c = 0; c < width; c += lanes)
        hn::Store(RowPairs(tile, rows, r, c), Pairs(), pairs + r / 2 * kKeyTile + c);
    return {pairs, 1, kKeyTile};
  }

 private:
  // Of the rows r and r + 1 of a tile, from column c on; 0 in place of rows that it does not have.
  static HWY_INLINE hn::Vec<Pairs> RowPairs(const float* tile, int64_t rows, int64_t r, int64_t c) {
    const auto rounded = [&](int64_t row) HWY_ATTR {
      return hn::PromoteTo(Pairs(), ToBfloats(hn::Load(Floats(), tile + row * kKeyTile + c)));
    };
    if (r >= rows) return hn::Zero(Pairs());
    return r + 1 < rows ? hn::Or(rounded(r), hn::ShiftLeft<16>(rounded(r + 1))) : rounded(r);
  }
};

// Multiplies a row of weights by its dropout mask.
template <class T>
HWY_INLINE void DropRow(const AttentionBlockOf<T>& block, int64_t query, int64_t first_key, int64_t width,
                        float* weights) {
  const Floats d;
  const DropoutRow<Floats> mask(d, block.dropout, block.dropout_row + static_cast<uint64_t>(query));
  for (int64_t c = 0; c < width; c += static_cast<int64_t>(hn::Lanes(d)))
    hn::Store(hn::Mul(hn::Load(d, weights + c), mask.Factor(d, first_key + c)), d, weights + c);
}

template <AttentionFunction kFunction, class Factors>
void Forward(const AttentionBlockOf<typename Factors::Input>& block, int64_t begin, int64_t end,
             float* HWY_RESTRICT out, int64_t out_stride, float* HWY_RESTRICT normalizer,
             float* scratch_memory) {
  constexpr bool kSoftmax = kFunction == AttentionFunction::softmax;
  using Element = typename Factors::Element;
  using Product = typename Factors::Product;
  const int64_t depth = Product::Depth(block.shared);
  Scratch scratch(scratch_memory);
  auto* keys_packed = scratch.take_elements<Element>(PackedSize(depth, kKeyTile));
  auto* values_packed = scratch.take_elements<Element>(PackedSize(Product::Depth(kKeyTile), block.values));
  auto* queries = scratch.take_elements<Element>(Factors::kCopies ? kQueryTile * depth : 0);
  auto* weights = scratch.take_elements<Element>(Factors::kCopies ? kQueryTile * kKeyTile / 2 : 0);
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
    PackTransposed(block.k + j * block.k_stride, block.k_stride, block.shared, depth, count, keys_packed);
    PackRows(block.v + j * block.v_stride, block.v_stride, count, Product::Depth(count), block.values,
             values_packed);
    FillHidden(block, j, count, width, hidden);
    for (int64_t i = begin; i < end; i += kQueryTile) {
      const int64_t rows = std::min(kQueryTile, end - i);
      if (block.causal && block.first_position + i + rows <= j) continue;
      const auto q = Factors::Rows(block.q + i * block.q_stride, block.q_stride, rows, block.shared, queries);
      Multiply<Product, false>(rows, width, depth, q, keys_packed, scores, kKeyTile);
      for (int64_t r = 0; r < rows; ++r) {
        const ScoreRow row = RowOf(block, i + r, j, count, hidden);
        float* products = scores + r * kKeyTile;
        if constexpr (kSoftmax) {
          const float correction =
              SoftmaxRow<Factors::kAccuracy>(row, width, products, maxima[i + r], sums[i + r]);
          if (j > 0 && correction != 1.0f) ScaleRow(out + (i + r) * out_stride, block.values, correction);
        } else {
          WeightRow<kFunction, Factors::kAccuracy>(row, width, products);
        }
        if (block.dropout.active()) DropRow(block, i + r, j, width, products);
      }
      const auto p = Factors::Tile(scores, rows, width, weights);
      float* to = out + i * out_stride;
      if (j == 0) {
        Multiply<Product, false>(rows, block.values, Product::Depth(count), p, values_packed, to, out_stride);
      } else {
        Multiply<Product, true>(rows, block.values, Product::Depth(count), p, values_packed, to, out_stride);
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
template <AttentionFunction kFunction, Accuracy kAccuracy, class T>
HWY_INLINE void BackwardRow(const AttentionBlockOf<T>& block, const AttentionGradientsOf<T>& gradients,
                            const ScoreRow& row, int64_t query, int64_t first_key, int64_t width,
                            float* HWY_RESTRICT products, float* HWY_RESTRICT dproducts) {
  constexpr bool kSoftmax = kFunction == AttentionFunction::softmax;
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  float inner = 0.0f, normalizer = 0.0f;
  if constexpr (kSoftmax) {
    // sum_j p_j dp_j = dout . out
    const T* out = gradients.out + query * gradients.out_stride;
    const T* dout = gradients.dout + query * gradients.dout_stride;
    Vector sum = hn::Zero(d);
    ForVectors(block.values, [&](auto view, int64_t c) HWY_ATTR {
      sum = hn::MulAdd(view.Load(out + c), view.Load(dout + c), sum);
    });
    inner = hn::GetLane(hn::SumOfLanes(d, sum));
    normalizer = gradients.normalizer[query];
  }
  const bool drop = block.dropout.active();
  const DropoutRow<Floats> mask(d, block.dropout, block.dropout_row + static_cast<uint64_t>(query));
  const int64_t position = block.first_position + query;
  // It has all the weight, whatever its score: dp - inner would be a rounding error.
  const bool only_key = block.keys == 1 || (block.causal && position == 0);
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
      p = BoundedExp<kAccuracy>(d, hn::Sub(s, hn::Set(d, normalizer)));
      ds = only_key ? hn::Zero(d) : hn::Mul(p, hn::Sub(dp, hn::Set(d, inner)));
    } else {
      const ValueAndSlope weight = Weight<kFunction, kAccuracy>(d, s);
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

template <AttentionFunction kFunction, class Factors>
void Backward(const AttentionBlockOf<typename Factors::Input>& block, int64_t begin, int64_t end,
              const AttentionGradientsOf<typename Factors::Input>& gradients, float* scratch_memory) {
  using Element = typename Factors::Element;
  using Product = typename Factors::Product;
  const int64_t shared = block.shared, values = block.values;
  const int64_t of_keys = Product::Depth(kKeyTile), of_queries = Product::Depth(kQueryTile);
  const int64_t of_shared = Product::Depth(shared), of_values = Product::Depth(values);
  Scratch scratch(scratch_memory);
  const auto copy = [&](int64_t elements) {
    return scratch.take_elements<Element>(Factors::kCopies ? elements : 0);
  };
  auto* keys_transposed = scratch.take_elements<Element>(PackedSize(of_shared, kKeyTile));
  auto* keys_packed = scratch.take_elements<Element>(PackedSize(of_keys, shared));
  auto* values_transposed = scratch.take_elements<Element>(PackedSize(of_values, kKeyTile));
  auto* queries_packed = scratch.take_elements<Element>(PackedSize(of_queries, shared));
  auto* dout_packed = scratch.take_elements<Element>(PackedSize(of_queries, values));
  Element* query_rows = copy(kQueryTile * of_shared);
  Element* dout_rows = copy(kQueryTile * of_values);
  Element* tile = copy(kQueryTile * kKeyTile / 2);
  float* scores = scratch.take(kQueryTile * kKeyTile);
  float* dscores = scratch.take(kQueryTile * kKeyTile);
  float* hidden = scratch.take(kKeyTile);

  for (int64_t j = begin; j < end; j += kKeyTile) {
    const int64_t count = std::min(kKeyTile, end - j);
    const int64_t width = round_up(count, PanelWidth());
    const auto* k = block.k + j * block.k_stride;
    const auto* v = block.v + j * block.v_stride;
    float* dk = gradients.dk + j * gradients.dk_stride;
    float* dv = gradients.dv + j * gradients.dv_stride;
    PackTransposed(k, block.k_stride, shared, of_shared, count, keys_transposed);
    PackRows(k, block.k_stride, count, Product::Depth(count), shared, keys_packed);
    PackTransposed(v, block.v_stride, values, of_values, count, values_transposed);
    FillHidden(block, j, count, width, hidden);
    for (int64_t c = 0; c < count; ++c) {
      std::fill_n(dk + c * gradients.dk_stride, shared, 0.0f);
      std::fill_n(dv + c * gradients.dv_stride, values, 0.0f);
    }
    const int64_t first = block.causal ? std::max<int64_t>(0, j - block.first_position) : 0;
    for (int64_t i = first; i < block.queries; i += kQueryTile) {
      const int64_t rows = std::min(kQueryTile, block.queries - i);
      const auto* q = block.q + i * block.q_stride;
      const auto* dout = gradients.dout + i * gradients.dout_stride;
      const int64_t depth = Product::Depth(rows);
      PackRows(q, block.q_stride, rows, depth, shared, queries_packed);
      PackRows(dout, gradients.dout_stride, rows, depth, values, dout_packed);
      Multiply<Product, false>(rows, width, of_shared,
                               Factors::Rows(q, block.q_stride, rows, shared, query_rows), keys_transposed,
                               scores, kKeyTile);
      Multiply<Product, false>(rows, width, of_values,
                               Factors::Rows(dout, gradients.dout_stride, rows, values, dout_rows),
                               values_transposed, dscores, kKeyTile);
      for (int64_t r = 0; r < rows; ++r) {
        const ScoreRow row = RowOf(block, i + r, j, count, hidden);
        BackwardRow<kFunction, Factors::kAccuracy>(block, gradients, row, i + r, j, width,
                                                   scores + r * kKeyTile, dscores + r * kKeyTile);
      }
      Multiply<Product, true>(count, values, depth, Factors::Transposed(scores, rows, width, tile),
                              dout_packed, dv, gradients.dv_stride);
      Multiply<Product, true>(count, shared, depth, Factors::Transposed(dscores, rows, width, tile),
                              queries_packed, dk, gradients.dk_stride);
      Multiply<Product, true>(rows, shared, Product::Depth(count), Factors::Tile(dscores, rows, width, tile),
                              keys_packed, gradients.dq + i * gradients.dq_stride, gradients.dq_stride);
    }
  }
}

// Calls body with the function as a compile-time constant.
template <class Body>
HWY_INLINE void WithFunction(AttentionFunction function, const Body& body) {
  using F = AttentionFunction;
  switch (function) {
    case F::softmax:
      return body(std::integral_constant<F, F::softmax>());
    case F::relu2:
      return body(std::integral_constant<F, F::relu2>());
    case F::laplace:
      return body(std::integral_constant<F, F::laplace>());
  }
}

// Calls body with the factors for inputs of type T.
template <class T, class Body>
HWY_INLINE void WithFactors(const Body& body) {
  if constexpr (std::is_same_v<T, float>) return body(WideFactors());
#if HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<T, uint16_t>) {
    if (has_tiles()) return body(NarrowFactors<PairArithmetic::tiles>());
    if (native_bf16()) return body(NarrowFactors<PairArithmetic::vectors>());
  }
#endif
  if constexpr (std::is_same_v<T, uint16_t>) return body(NarrowFactors<PairArithmetic::floats>());
}

template <class T>
void ForwardAny(const AttentionBlockOf<T>& block, int64_t begin, int64_t end, float* out, int64_t out_stride,
                float* normalizer, float* scratch) {
  WithFunction(block.function, [&](auto function) {
    WithFactors<T>([&](auto factors) {
      Forward<function(), decltype(factors)>(block, begin, end, out, out_stride, normalizer, scratch);
    });
  });
}

template <class T>
void BackwardAny(const AttentionBlockOf<T>& block, int64_t begin, int64_t end,
                 const AttentionGradientsOf<T>& gradients, float* scratch) {
  WithFunction(block.function, [&](auto function) {
    WithFactors<T>([&](auto factors) {
      Backward<function(), decltype(factors)>(block, begin, end, gradients, scratch);
    });
  });
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT_T(ForwardAny);
MEGA_EXPORT_T(BackwardAny);

int64_t attention_scratch(int64_t queries, int64_t shared, int64_t values) {
  // Panels are at most 64 columns wide; the backward pass needs more than the forward pass. bf16 packs two
  // values into an element and has copies of left factors beside that.
  const int64_t z = round_up(shared, 64), v = round_up(values, 64);
  const int64_t packed = kKeyTile * (2 * z + v) + kQueryTile * (z + v);
  const int64_t copies = kQueryTile * (z + v + kKeyTile) / 2;
  const int64_t factors = std::max(packed, packed / 2 + copies);
  return factors + 2 * kQueryTile * kKeyTile + kKeyTile + 2 * round_up(queries, 64) + 16 * 64;
}

void attention_forward(const AttentionBlock& block, int64_t begin, int64_t end, float* out,
                       int64_t out_stride, float* normalizer, float* scratch) {
  if (begin >= end) return;
  MEGA_DISPATCH_T(ForwardAny, float)(block, begin, end, out, out_stride, normalizer, scratch);
}

void attention_forward(const NarrowAttentionBlock& block, int64_t begin, int64_t end, float* out,
                       int64_t out_stride, float* normalizer, float* scratch) {
  if (begin >= end) return;
  MEGA_DISPATCH_T(ForwardAny, uint16_t)(block, begin, end, out, out_stride, normalizer, scratch);
}

void attention_backward(const AttentionBlock& block, int64_t begin, int64_t end,
                        const AttentionGradients& gradients, float* scratch) {
  if (begin >= end) return;
  MEGA_DISPATCH_T(BackwardAny, float)(block, begin, end, gradients, scratch);
}

void attention_backward(const NarrowAttentionBlock& block, int64_t begin, int64_t end,
                        const NarrowAttentionGradients& gradients, float* scratch) {
  if (begin >= end) return;
  MEGA_DISPATCH_T(BackwardAny, uint16_t)(block, begin, end, gradients, scratch);
}

}  // namespace mega::kernels
#endif
