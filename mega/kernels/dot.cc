#include "mega/kernels/dot.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/dot.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "mega/kernels/dispatch.h"
#include "mega/kernels/dot_tiles.h"
#include "mega/kernels/elementwise-inl.h"
#include "mega/kernels/packed_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

// Tokens per tile: with kRowsOfTile weight rows, sums take 24 of 32 registers, or 12 of 16.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr int kTileTokens = 6;
#else
inline constexpr int kTileTokens = 3;
#endif

using Integers = hn::ScalableTag<int32_t>;
using IntegerVector = hn::Vec<Integers>;

// How each type is multiplied and accumulated. A step takes Lanes() weights and inputs; kTileRows selects
// which rows form a tile of several tokens.

template <class T>  // float, or uint16_t for bf16
struct FloatProducts {
  using Weight = T;
  using Input = float;
  using Sum = float;
  using Accumulator = Vector;
  static constexpr int kMostTokens = kTileTokens;
  static constexpr TileRows kTileRows = TileRows::apart;

  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(Floats())); }
  static HWY_INLINE Vector LoadInput(const float* p) { return hn::LoadU(Floats(), p); }
  static HWY_INLINE Vector LoadWeight(const float* p) { return hn::LoadU(Floats(), p); }
  static HWY_INLINE Vector LoadWeight(const uint16_t* p) {
    const hn::Rebind<uint32_t, Floats> bits;
    const hn::Rebind<uint16_t, Floats> halves;
    return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(halves, p))));
  }
  static HWY_INLINE Vector Start() { return hn::Zero(Floats()); }
  static HWY_INLINE void Accumulate(Vector w, Vector x, Vector& sum) { sum = hn::MulAdd(w, x, sum); }
  static HWY_INLINE Vector Total(Vector sum) { return sum; }
};

// Products of 16-bit operands, added in pairs. Some instruction sets return the pairs in two vectors.
struct IntegerProducts {
  using Weight = int8_t;
  using Input = int8_t;
  using Sum = int32_t;
  struct Accumulator {
    IntegerVector first, second;
  };
  static constexpr int kMostTokens = HWY_TARGET == HWY_AVX3 ? 6 : 3;
  static constexpr TileRows kTileRows = TileRows::neighbours;
  using Shorts = hn::ScalableTag<int16_t>;
  using ShortVector = hn::Vec<Shorts>;

  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(Shorts())); }
  static HWY_INLINE ShortVector LoadInput(const int8_t* p) {
    const hn::Rebind<int8_t, Shorts> bytes;
    return hn::PromoteTo(Shorts(), hn::LoadU(bytes, p));
  }
  static HWY_INLINE ShortVector LoadWeight(const int8_t* p) { return LoadInput(p); }
  static HWY_INLINE Accumulator Start() { return {hn::Zero(Integers()), hn::Zero(Integers())}; }
  static HWY_INLINE void Accumulate(ShortVector w, ShortVector x, Accumulator& sum) {
    sum.first = hn::ReorderWidenMulAccumulate(Integers(), w, x, sum.first, sum.second);
  }
  static HWY_INLINE IntegerVector Total(const Accumulator& sum) { return hn::Add(sum.first, sum.second); }
};

#if HWY_TARGET == HWY_AVX3
// AVX-512 VNNI multiplies unsigned by signed bytes and adds four products at once. Inputs are made unsigned
// by adding 128, so a sum is too large by 128 times the sum of its weights.
struct VnniProducts {
  using Weight = int8_t;
  using Input = int8_t;
  using Sum = int32_t;
  using Accumulator = IntegerVector;
  static constexpr int kMostTokens = kTileTokens;
  static constexpr TileRows kTileRows = TileRows::neighbours;
  using Bytes = hn::Repartition<int8_t, Integers>;
  using ByteVector = hn::Vec<Bytes>;

  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(Bytes())); }
  static HWY_INLINE ByteVector LoadInput(const int8_t* p) {
    return hn::Xor(hn::LoadU(Bytes(), p), hn::Set(Bytes(), int8_t{-128}));
  }
  static HWY_INLINE ByteVector LoadWeight(const int8_t* p) { return hn::LoadU(Bytes(), p); }
  static HWY_INLINE IntegerVector Start() { return hn::Zero(Integers()); }
  static HWY_INLINE void Accumulate(ByteVector w, ByteVector x, IntegerVector& sum) {
    // Inline assembly, because the intrinsic would need a separately compiled instruction set.
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
  }
  static HWY_INLINE IntegerVector Total(IntegerVector sum) { return sum; }
};
#endif

#if HWY_TARGET == HWY_AVX3
// AVX512-BF16 adds two products of bf16 at once.
struct BfloatProducts {
  using Weight = uint16_t;
  using Input = uint16_t;
  using Sum = float;
  using Accumulator = Vector;
  static constexpr int kMostTokens = kTileTokens;
  static constexpr TileRows kTileRows = TileRows::apart;
  using Bits = hn::Repartition<uint16_t, Floats>;
  using BitVector = hn::Vec<Bits>;

  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(Bits())); }
  static HWY_INLINE BitVector LoadInput(const uint16_t* p) { return hn::LoadU(Bits(), p); }
  static HWY_INLINE BitVector LoadWeight(const uint16_t* p) { return hn::LoadU(Bits(), p); }
  static HWY_INLINE Vector Start() { return hn::Zero(Floats()); }
  static HWY_INLINE void Accumulate(BitVector w, BitVector x, Vector& sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
  }
  static HWY_INLINE Vector Total(Vector sum) { return sum; }
};
#endif

#if HWY_TARGET == HWY_SCALAR
template <class D, class V = hn::Vec<D>>
HWY_INLINE void StoreSums(D d, V a, V b, V c, V e, hn::TFromD<D>* sums) {
  for (const V v : {a, b, c, e}) hn::StoreU(v, d, sums++);
}
#else
// Sums the blocks of four lanes.
template <class D>
HWY_INLINE auto SumOfBlocks(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) > 4) {
    const hn::Half<D> half;
    return SumOfBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    return v;
  }
}

// The sums of the lanes of four vectors at once: a transposition that adds along the way.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void StoreSums(D d, V a, V b, V c, V e, hn::TFromD<D>* sums) {
  const hn::Repartition<uint64_t, D> pairs;
  const auto ab = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  const V low = hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce));
  const V high = hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce));
  hn::StoreU(SumOfBlocks(d, hn::Add(low, high)), hn::FixedTag<hn::TFromD<D>, 4>(), sums);
}
#endif

// The last elements of a row, zero-padded, without reading past the end.
template <class T>
struct Tail {
  HWY_INLINE Tail(const T* p, int64_t count) {
    std::memcpy(numbers, p, static_cast<size_t>(count) * sizeof(T));
  }
  HWY_ALIGN T numbers[HWY_MAX_BYTES / sizeof(T)] = {};
};

// One step of a tile: multiplies each weight row with each token.
template <class Products, int kRows, int kTokens, class LoadWeight, class LoadInput>
HWY_INLINE void Step(const LoadWeight& load_weight, const LoadInput& load_input,
                     typename Products::Accumulator (&accumulators)[kTokens][kRows]) {
  decltype(load_input(0)) x[kTokens];
  HWY_UNROLL(8)
  for (int t = 0; t < kTokens; ++t) x[t] = load_input(t);
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    const auto w = load_weight(r);
    HWY_UNROLL(8)
    for (int t = 0; t < kTokens; ++t) Products::Accumulate(w, x[t], accumulators[t][r]);
  }
}

// What a tile prefetches for later ones. Into L2, because L1 holds what other tokens will read again. An
// address beyond the matrix is harmless.

struct FetchAfterEach {  // of its rows
  int64_t elements;

  template <class Weight, int kRows>
  HWY_INLINE void operator()(const Weight* const (&weights)[kRows], int64_t k) const {
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) __builtin_prefetch(weights[r] + k + elements, 0, 2);
  }
};

template <class Weight>
struct FetchPart {  // the first part of a row: all, half, a quarter, ...
  const Weight* row;
  int halvings;

  template <int kRows>
  HWY_INLINE void operator()(const Weight* const (&)[kRows], int64_t k) const {
    __builtin_prefetch(row + (k >> halvings), 0, 2);
  }
};

// sums[t][r] = weights[r] . inputs[t]. Each sum has one accumulator, fed in column order and reduced in a
// fixed way, so its bits do not depend on the tile.
template <class Products, int kRows, int kTokens, class Fetch>
HWY_INLINE void SumTile(const typename Products::Weight* const (&weights)[kRows],
                        const typename Products::Input* const (&inputs)[kTokens], int64_t depth,
                        const Fetch& fetch, typename Products::Sum (&sums)[kTokens][kRows]) {
  typename Products::Accumulator accumulators[kTokens][kRows];
  HWY_UNROLL(8)
  for (auto& of_token : accumulators) {
    HWY_UNROLL(8)
    for (auto& accumulator : of_token) accumulator = Products::Start();
  }
  const int64_t lanes = Products::Lanes();
  int64_t k = 0;
  for (; k + lanes <= depth; k += lanes) {
    fetch(weights, k);
    Step<Products>([&](int r) HWY_ATTR { return Products::LoadWeight(weights[r] + k); },
                   [&](int t) HWY_ATTR { return Products::LoadInput(inputs[t] + k); }, accumulators);
  }
  if (k < depth) {
    Step<Products>(
        [&](int r) HWY_ATTR { return Products::LoadWeight(Tail(weights[r] + k, depth - k).numbers); },
        [&](int t) HWY_ATTR { return Products::LoadInput(Tail(inputs[t] + k, depth - k).numbers); },
        accumulators);
  }
  HWY_UNROLL(8)
  for (int t = 0; t < kTokens; ++t) {
    HWY_UNROLL(2)
    for (int r = 0; r < kRows; r += 4) {
      const auto* a = &accumulators[t][r];
      StoreSums(hn::ScalableTag<typename Products::Sum>(), Products::Total(a[0]), Products::Total(a[1]),
                Products::Total(a[2]), Products::Total(a[3]), &sums[t][r]);
    }
  }
}

// Stores w_n . x_m for n in [begin, end) and m in [token_begin, token_end): four adjacent n at once with
// store.Four(m, n, sums), or one with store.One(m, n, sum).
template <class Products, class Store>
HWY_INLINE void Dots(const void* data, int64_t depth, int64_t begin, int64_t end,
                     const typename Products::Input* x, int64_t x_stride, int64_t token_begin,
                     int64_t token_end, const Store& store) {
  using Weight = typename Products::Weight;
  const auto* w = static_cast<const Weight*>(data);
  const auto run = [&](auto tile_rows, auto tile_tokens, int64_t first, int64_t step, int64_t m,
                       const auto& fetch) HWY_ATTR {
    constexpr int kRows = decltype(tile_rows)::value, kTokens = decltype(tile_tokens)::value;
    const Weight* weights[kRows];
    const typename Products::Input* inputs[kTokens];
    // Beyond the end, the last row of the tile is recomputed.
    int64_t rows[kRows];
    rows[0] = first;
    weights[0] = w + first * depth;
    for (int r = 1; r < kRows; ++r) {
      const bool exists = first + r * step < end;
      rows[r] = exists ? rows[r - 1] + step : rows[r - 1];
      weights[r] = exists ? weights[r - 1] + step * depth : weights[r - 1];
    }
    inputs[0] = x + m * x_stride;
    for (int t = 1; t < kTokens; ++t) inputs[t] = inputs[t - 1] + x_stride;
    typename Products::Sum sums[kTokens][kRows];
    SumTile<Products>(weights, inputs, depth, fetch, sums);
    if (step == 1 && first + kRows <= end) {
      for (int t = 0; t < kTokens; ++t)
        for (int r = 0; r < kRows; r += 4) store.Four(m + t, first + r, &sums[t][r]);
    } else {
      for (int t = 0; t < kTokens; ++t)
        for (int r = 0; r < kRows; ++r) store.One(m + t, rows[r], sums[t][r]);
    }
  };
  const auto tile = [&](auto rows, auto tokens, int64_t first, int64_t step, int64_t m) HWY_ATTR {
    // In a strip, the next tile reads the row below. Adjacent rows form a single stream, which is prefetched
    // far ahead.
    constexpr int64_t kFarAhead = (1 << 14) / sizeof(Weight);
    run(rows, tokens, first, step, m, FetchAfterEach{step == 1 ? kFarAhead : depth});
  };
  const auto band_tile = [&](auto rows, auto tokens, int64_t first, int64_t m,
                             const NextBand& next) HWY_ATTR {
    const Weight* part = w + next.row * depth + (next.parts * depth >> next.halvings);
    run(rows, tokens, first, 1, m, FetchPart<Weight>{part, next.halvings});
  };
  const TileRange range{begin,
                        end,
                        token_begin,
                        token_end,
                        depth * static_cast<int64_t>(sizeof(*w)),
                        depth * static_cast<int64_t>(sizeof(*x))};
  for_tiles<Products::kMostTokens, Products::kTileRows>(range, tile, band_tile);
}

struct FloatStore {
  Rows y;

  HWY_INLINE void One(int64_t m, int64_t n, float sum) const { y[m][n] = sum; }
  HWY_INLINE void Four(int64_t m, int64_t n, const float* sums) const { std::copy_n(sums, 4, y[m] + n); }
};

// Scales sums of integer products after subtracting kOffset times the sum of the weights.
template <int kOffset>
struct IntegerStore {
  const Weights& weights;
  const float* input_scales;
  Rows y;

  HWY_INLINE void One(int64_t m, int64_t n, int32_t sum) const {
    const int32_t exact = kOffset == 0 ? sum : sum - kOffset * weights.sums[n];
    y[m][n] = static_cast<float>(exact) * (weights.scales[n] * input_scales[m]);
  }
  HWY_INLINE void Four(int64_t m, int64_t n, const int32_t* sums) const {
    const hn::CappedTag<int32_t, 4> integers;
    const hn::CappedTag<float, 4> floats;
    const auto input_scale = hn::Set(floats, input_scales[m]);
    for (int i = 0; i < 4; i += static_cast<int>(hn::Lanes(floats))) {
      auto exact = hn::LoadU(integers, sums + i);
      if constexpr (kOffset != 0) {
        const auto of_weights = hn::LoadU(integers, weights.sums + n + i);
        exact = hn::Sub(exact, hn::Mul(of_weights, hn::Set(integers, kOffset)));
      }
      const auto scale = hn::Mul(hn::LoadU(floats, weights.scales + n + i), input_scale);
      hn::StoreU(hn::Mul(hn::ConvertTo(floats, exact), scale), floats, y[m] + n + i);
    }
  }
};

template <class T>
void FloatDots(const Weights& weights, int64_t begin, int64_t end, ConstRows x, int64_t token_begin,
               int64_t token_end, Rows y) {
  Dots<FloatProducts<T>>(weights.data, weights.depth, begin, end, x.data, x.stride, token_begin, token_end,
                         FloatStore{y});
}

// Beyond this depth, a sum may overflow 32 bits.
inline constexpr int64_t kDeep = 1 << 16;

// Rare, so speed does not matter: one pair of rows at a time, in pieces whose sums fit 32 bits.
void DeepIntegerDots(const Weights& weights, int64_t begin, int64_t end, const Activations& x,
                     int64_t token_begin, int64_t token_end, Rows y) {
  const auto* w = static_cast<const int8_t*>(weights.data);
  for (int64_t m = token_begin; m < token_end; ++m) {
    for (int64_t n = begin; n < end; ++n) {
      int64_t total = 0;
      for (int64_t k = 0; k < weights.depth; k += kDeep) {
        const int8_t* row = w + n * weights.depth + k;
        int32_t sums[1][4];
        SumTile<IntegerProducts>({row, row, row, row}, {x.quantized + m * weights.depth + k},
                                 std::min(kDeep, weights.depth - k), FetchAfterEach{0}, sums);
        total += sums[0][0];
      }
      y[m][n] = static_cast<float>(total) * (weights.scales[n] * x.scales[m]);
    }
  }
}

void IntegerDots(const Weights& weights, int64_t begin, int64_t end, const Activations& x,
                 int64_t token_begin, int64_t token_end, Rows y) {
  const int64_t depth = weights.depth;
  if (depth > kDeep) return DeepIntegerDots(weights, begin, end, x, token_begin, token_end, y);
#if HWY_TARGET == HWY_AVX3
  if (cpu_has_vnni) {
    return Dots<VnniProducts>(weights.data, depth, begin, end, x.quantized, depth, token_begin, token_end,
                              IntegerStore<128>{weights, x.scales, y});
  }
#endif
  Dots<IntegerProducts>(weights.data, depth, begin, end, x.quantized, depth, token_begin, token_end,
                        IntegerStore<0>{weights, x.scales, y});
}

#if HWY_TARGET == HWY_AVX3
// From this many tokens on, packing takes less time than collecting sums from the lanes of vectors.
inline constexpr int64_t kManyTokens = 16;

// Whether an integer product was computed from packed weights.
bool PackedIntegerDots(const Weights& weights, int64_t begin, int64_t end, const Activations& x,
                       int64_t token_begin, int64_t token_end, Rows y, const float* bias) {
  constexpr int64_t kWordBytes = sizeof(Word);
  const bool fits = weights.depth % kWordBytes == 0 && weights.depth <= kPanelWords * kWordBytes;
  if (token_end - token_begin < kManyTokens || !fits || !cpu_has_vnni) return false;
  PackedDots<ByteWords>(weights.data, weights.depth, begin, end, x.quantized, token_begin, token_end,
                        ByteStore{weights, x, y, bias});
  return true;
}

// Whether a bf16 product was computed from packed weights.
bool PackedBfloatDots(const Weights& weights, int64_t begin, int64_t end, const Activations& x,
                      int64_t token_begin, int64_t token_end, Rows y, const float* bias) {
  if (token_end - token_begin < kManyTokens || !reads_rounded(weights)) return false;
  PackedDots<BfloatWords>(weights.data, 2 * weights.depth, begin, end, x.rounded, token_begin, token_end,
                          BfloatStore{y, bias});
  return true;
}
#endif

void BfloatDots(const Weights& weights, int64_t begin, int64_t end, const Activations& x, int64_t token_begin,
                int64_t token_end, Rows y) {
#if HWY_TARGET == HWY_AVX3
  if (reads_rounded(weights))
    return Dots<BfloatProducts>(weights.data, weights.depth, begin, end, x.rounded, weights.depth,
                                token_begin, token_end, FloatStore{y});
#endif
  FloatDots<uint16_t>(weights, begin, end, x.values, token_begin, token_end, y);
}

void DotRows(const Weights& weights, int64_t begin, int64_t end, const Activations& x, int64_t row_begin,
             int64_t row_end, Rows y, const float* bias) {
#if HWY_TARGET == HWY_AVX3
  if (weights.type == WeightType::i8 &&
      PackedIntegerDots(weights, begin, end, x, row_begin, row_end, y, bias))
    return;
  if (weights.type == WeightType::bf16 &&
      PackedBfloatDots(weights, begin, end, x, row_begin, row_end, y, bias))
    return;
#endif
  switch (weights.type) {
    case WeightType::f32:
      FloatDots<float>(weights, begin, end, x.values, row_begin, row_end, y);
      break;
    case WeightType::bf16:
      BfloatDots(weights, begin, end, x, row_begin, row_end, y);
      break;
    case WeightType::i8:
      IntegerDots(weights, begin, end, x, row_begin, row_end, y);
      break;
  }
  if (bias == nullptr) return;
  for (int64_t m = row_begin; m < row_end; ++m)
    for (int64_t n = begin; n < end; ++n) y[m][n] += bias[n];
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(DotRows);

void dot_rows(const Weights& weights, int64_t begin, int64_t end, const Activations& x, int64_t row_begin,
              int64_t row_end, Rows y, const float* bias) {
  MEGA_DISPATCH(DotRows)(weights, begin, end, x, row_begin, row_end, y, bias);
}

bool reads_rounded(const Weights& weights) {
  return weights.type == WeightType::bf16 && weights.rounds && weights.depth % 2 == 0 && native_bf16();
}

}  // namespace mega::kernels
#endif
