// Products with weights of bf16 or int8 at the rate of the CPU's dot-product instructions: vdpbf16ps adds two
// products of bf16 to each of 16 sums, vpdpbusd four products of bytes. Included by dot.cc, where the
// instruction set has them.
//
// A word is 32 bits: two bf16 values, or four bytes, that are neighbours along the depth. Weight rows are
// transposed, word by word, into a panel on the stack, in which a vector holds 16 rows at one depth. Then a
// word of a token meets them all at once, and no sum has to be collected from the lanes of a vector. Packing
// pays off with many tokens. Each sum is computed in the order of the depth, whatever their number.
#if defined(MEGA_KERNELS_PACKED_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEGA_KERNELS_PACKED_DOT_INL_H_
#undef MEGA_KERNELS_PACKED_DOT_INL_H_
#else
#define MEGA_KERNELS_PACKED_DOT_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "mega/kernels/dot.h"
#include "mega/kernels/dot_tiles.h"
#include "mega/kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3

using Word = uint32_t;
using Words = hn::ScalableTag<Word>;
using WordVector = hn::Vec<Words>;

inline constexpr int kWordLanes = 16;
inline constexpr int kPanelRows = 2 * kWordLanes;
inline constexpr int kPanelTokens = 12;  // with two vectors of weights, sums take 24 of 32 registers
inline constexpr int64_t kPanelWords =
    1024;  // of depth: a panel has up to 128 KiB, and stays in the L2 cache

struct BfloatWords {
  using Sum = Vector;
  static HWY_INLINE Sum Zero() { return hn::Zero(Floats()); }
  static HWY_INLINE WordVector Prepare(WordVector weights) { return weights; }
  static HWY_INLINE void Accumulate(WordVector w, WordVector x, Sum& sum) {
    // Inline assembly, because the intrinsic would need a separately compiled instruction set.
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
  }
};

// The instruction multiplies unsigned by signed bytes. Weights are made unsigned by adding 128, so a sum is
// too large by 128 times the sum of its inputs.
struct ByteWords {
  using Sum = hn::Vec<hn::ScalableTag<int32_t>>;
  static HWY_INLINE Sum Zero() { return hn::Zero(hn::ScalableTag<int32_t>()); }
  static HWY_INLINE WordVector Prepare(WordVector weights) {
    return hn::Xor(weights, hn::Set(Words(), 0x80808080u));
  }
  static HWY_INLINE void Accumulate(WordVector w, WordVector x, Sum& sum) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "v"(x.raw));
  }
};

HWY_INLINE void Transpose(WordVector (&v)[kWordLanes]) {
  const Words d;
  const hn::Repartition<uint64_t, Words> pairs;
  const auto low = [&](WordVector a, WordVector b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto high = [&](WordVector a, WordVector b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto even_blocks = [](WordVector a, WordVector b)
                               HWY_ATTR { return WordVector{_mm512_shuffle_i32x4(a.raw, b.raw, 0x88)}; };
  const auto odd_blocks = [](WordVector a, WordVector b)
                              HWY_ATTR { return WordVector{_mm512_shuffle_i32x4(a.raw, b.raw, 0xDD)}; };
  // Within blocks of four words: block b of vector 4 g + j becomes column 4 b + j of the rows 4 g to 4 g + 3.
  HWY_UNROLL(4)
  for (int g = 0; g < kWordLanes; g += 4) {
    const WordVector a = hn::InterleaveLower(d, v[g], v[g + 1]), b = hn::InterleaveUpper(d, v[g], v[g + 1]),
                     c = hn::InterleaveLower(d, v[g + 2], v[g + 3]),
                     e = hn::InterleaveUpper(d, v[g + 2], v[g + 3]);
    v[g] = low(a, c);
    v[g + 1] = high(a, c);
    v[g + 2] = low(b, e);
    v[g + 3] = high(b, e);
  }
  // Then whole blocks.
  HWY_UNROLL(4)
  for (int j = 0; j < 4; ++j) {
    const WordVector a = even_blocks(v[j], v[j + 4]), b = even_blocks(v[j + 8], v[j + 12]),
                     c = odd_blocks(v[j], v[j + 4]), e = odd_blocks(v[j + 8], v[j + 12]);
    v[j] = even_blocks(a, b);
    v[j + 4] = even_blocks(c, e);
    v[j + 8] = odd_blocks(a, b);
    v[j + 12] = odd_blocks(c, e);
  }
}

// Packs `words` words of up to kPanelRows rows, row_bytes apart; after the last row, it is repeated. Fetches
// the bytes that follow these rows, where the next panel will be packed from; addresses beyond the matrix are
// harmless.
template <class Kind>
HWY_NOINLINE void PackPanel(const std::byte* weights, int64_t row_bytes, int64_t rows, int64_t words,
                            Word* packed) {
  const Words d;
  constexpr int64_t kLine = 64;
  const std::byte* next = weights + rows * row_bytes;
  for (int64_t half = 0; half < kPanelRows; half += kWordLanes) {
    const std::byte* from[kWordLanes];
    for (int64_t r = 0; r < kWordLanes; ++r) from[r] = weights + std::min(half + r, rows - 1) * row_bytes;
    for (int64_t w = 0; w < words; w += kWordLanes) {
      const int64_t count = std::min<int64_t>(kWordLanes, words - w);
      WordVector block[kWordLanes];
      const auto load = [&](auto mask) HWY_ATTR {
        HWY_UNROLL(16)
        for (int r = 0; r < kWordLanes; ++r) {
          block[r] = WordVector{_mm512_maskz_loadu_epi32(mask, from[r] + w * sizeof(Word))};
          __builtin_prefetch(next + r * kLine, 0, 2);
        }
      };
      load(static_cast<__mmask16>((1u << count) - 1));
      next += kWordLanes * kLine;
      Transpose(block);
      Word* to = packed + w * kPanelRows + half;
      if (count == kWordLanes) {
        HWY_UNROLL(16)
        for (int c = 0; c < kWordLanes; ++c) hn::Store(Kind::Prepare(block[c]), d, to + c * kPanelRows);
      } else {
        for (int64_t c = 0; c < count; ++c) hn::Store(Kind::Prepare(block[c]), d, to + c * kPanelRows);
      }
    }
  }
}

// Adds the products of a panel with kTokens tokens, x_bytes apart.
template <class Kind, int kTokens>
HWY_INLINE void AddPanel(const Word* HWY_RESTRICT panel, const std::byte* x, int64_t x_bytes, int64_t words,
                         typename Kind::Sum (&sums)[kTokens][2]) {
  const Words d;
  const auto word = [](const std::byte* p) HWY_ATTR {
    Word value;
    std::memcpy(&value, p, sizeof value);
    return value;
  };
  for (int64_t w = 0; w < words; ++w, panel += kPanelRows, x += sizeof(Word)) {
    const WordVector first = hn::Load(d, panel), second = hn::Load(d, panel + kWordLanes);
    HWY_UNROLL(16)
    for (int t = 0; t < kTokens; ++t) {
      const WordVector input = hn::Set(d, word(x + t * x_bytes));
      Kind::Accumulate(first, input, sums[t][0]);
      Kind::Accumulate(second, input, sums[t][1]);
    }
  }
}

// Sums to outputs, `View` of a vector or a part of it.

struct BfloatStore {
  Rows y;
  const float* bias;

  // Of a depth in several pieces, y holds the sums so far.
  template <class View>
  HWY_INLINE Vector Start(View view, int64_t m, int64_t n, bool begins) const {
    return begins ? hn::Zero(Floats()) : view.Load(y[m] + n);
  }
  template <class View>
  HWY_INLINE void Finish(View view, Vector sum, int64_t m, int64_t n, bool ends) const {
    if (ends && bias != nullptr) sum = hn::Add(sum, view.Load(bias + n));
    view.Store(sum, y[m] + n);
  }
};

struct ByteStore {
  const Weights& weights;
  const Activations& x;
  Rows y;
  const float* bias;

  template <class View>
  HWY_INLINE ByteWords::Sum Start(View, int64_t, int64_t, bool) const {
    return ByteWords::Zero();
  }
  template <class View>
  HWY_INLINE void Finish(View view, ByteWords::Sum sum, int64_t m, int64_t n, bool) const {
    const Floats d;
    const auto exact = hn::Sub(sum, hn::Set(hn::ScalableTag<int32_t>(), 128 * x.sums[m]));
    const Vector scale = hn::Mul(view.Load(weights.scales + n), hn::Set(d, x.scales[m]));
    Vector value = hn::Mul(hn::ConvertTo(d, exact), scale);
    if (bias != nullptr) {
      asm("" : "+v"(value.raw));  // round here, as where there is no fused multiply-add
      value = hn::Add(value, view.Load(bias + n));
    }
    view.Store(value, y[m] + n);
  }
};

// As Dots, for inputs (M, depth) that are contiguous. Rows are whole words.
template <class Kind, class Store>
void PackedDots(const void* data, int64_t row_bytes, int64_t begin, int64_t end, const void* inputs,
                int64_t token_begin, int64_t token_end, const Store& store) {
  const int64_t words = row_bytes / static_cast<int64_t>(sizeof(Word));
  const auto* weights = static_cast<const std::byte*>(data);
  const auto* x = static_cast<const std::byte*>(inputs);
  const TokenPieces<kPanelTokens> pieces(token_begin, token_end - token_begin);
  HWY_ALIGN Word panel[kPanelWords * kPanelRows];
  for (int64_t n = begin; n < end; n += kPanelRows) {
    const int64_t rows = std::min<int64_t>(kPanelRows, end - n);
    for (int64_t at = 0; at < words; at += kPanelWords) {
      const int64_t depth = std::min(kPanelWords, words - at),
                    offset = at * static_cast<int64_t>(sizeof(Word));
      const bool begins = at == 0, ends = at + depth == words;
      PackPanel<Kind>(weights + n * row_bytes + offset, row_bytes, rows, depth, panel);
      const auto multiply = [&](auto tokens, int64_t m, auto first_view, auto second_view) HWY_ATTR {
        constexpr int kTokens = decltype(tokens)::value;
        typename Kind::Sum sums[kTokens][2];
        HWY_UNROLL(16)
        for (int t = 0; t < kTokens; ++t) {
          sums[t][0] = store.Start(first_view, m + t, n, begins);
          sums[t][1] = store.Start(second_view, m + t, n + kWordLanes, begins);
        }
        AddPanel<Kind, kTokens>(panel, x + m * row_bytes + offset, row_bytes, depth, sums);
        HWY_UNROLL(16)
        for (int t = 0; t < kTokens; ++t) {
          store.Finish(first_view, sums[t][0], m + t, n, ends);
          store.Finish(second_view, sums[t][1], m + t, n + kWordLanes, ends);
        }
      };
      for (int64_t piece = 0; piece < pieces.count; ++piece)
        pieces.with_size(piece, [&](auto tokens) HWY_ATTR {
          const int64_t m = pieces.start(piece);
          if (rows == kPanelRows)
            multiply(tokens, m, WholeView(), WholeView());
          else
            multiply(tokens, m, TailView{std::min<int64_t>(rows, kWordLanes)},
                     TailView{std::max<int64_t>(rows - kWordLanes, 0)});
        });
    }
  }
}

#endif  // HWY_AVX3

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
