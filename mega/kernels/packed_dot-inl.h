// Products with weights of bf16 or int8 at the rate of the CPU's dot-product instructions: vdpbf16ps adds two
// products of bf16 to each of 16 sums, vpdpbusd four products of bytes. Included where the instruction set
// has them.
//
// Weight rows are transposed, word by word, into a panel on the stack, in which a vector holds 16 rows at one
// depth. Then a word of a token meets them all at once, and no sum has to be collected from the lanes of a
// vector. Packing pays off with many tokens. Each sum is computed in the order of the depth, whatever their
// number. Where the CPU has tiles, they multiply such panels.
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
#include "mega/kernels/tiles-inl.h"
#include "mega/kernels/words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3

inline constexpr int kPanelTokens = 12;  // with two vectors of weights, sums take 24 of 32 registers
// Words of depth that are packed at once, of one panel or several: 128 KiB, which stay in the L2 cache.
inline constexpr int64_t kPanelWords = 1024;

struct BfloatWords {
  using Tag = Floats;
  using Sum = hn::Vec<Tag>;
  static constexpr Word kFlip = 0;  // of weights
  static constexpr WordKind kKind = WordKind::bfloats;
  static HWY_INLINE void Accumulate(WordVector w, WordVector x, Sum& sum) {
    // Inline assembly, because the intrinsic would need a separately compiled instruction set.
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
  }
};

// The instruction multiplies unsigned by signed bytes. Weights are made unsigned by adding 128, so a sum is
// too large by 128 times the sum of its inputs.
struct ByteWords {
  using Tag = hn::ScalableTag<int32_t>;
  using Sum = hn::Vec<Tag>;
  static constexpr Word kFlip = 0x80808080u;
  static constexpr WordKind kKind = WordKind::bytes;
  static HWY_INLINE void Accumulate(WordVector w, WordVector x, Sum& sum) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "v"(x.raw));
  }
};

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
  for (int64_t w = 0; w < words; ++w, panel += kPanelColumns, x += sizeof(Word)) {
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
    return hn::Zero(ByteWords::Tag());
  }
  template <class View>
  HWY_INLINE void Finish(View view, ByteWords::Sum sum, int64_t m, int64_t n, bool) const {
    const Floats d;
    const auto exact = hn::Sub(sum, hn::Set(ByteWords::Tag(), 128 * x.sums[m]));
    const Vector scale = hn::Mul(view.Load(weights.scales + n), hn::Set(d, x.scales[m]));
    Vector value = hn::Mul(hn::ConvertTo(d, exact), scale);
    if (bias != nullptr) {
      asm("" : "+v"(value.raw));  // round here, as where there is no fused multiply-add
      value = hn::Add(value, view.Load(bias + n));
    }
    view.Store(value, y[m] + n);
  }
};

// Adjacent panels, or a piece of one along the depth, and what they meet.
struct Panels {
  const Word* data;
  int64_t words;       // of depth
  bool begins, ends;   // the depth
  int64_t first, end;  // rows of the weights
  const std::byte* x;  // the inputs of token 0, at this depth
  int64_t x_bytes;     // between tokens
  int64_t token_begin, token_end;

  const Word* panel(int64_t n) const { return data + (n - first) * words; }  // of the rows from n on
  const std::byte* token(int64_t m) const { return x + m * x_bytes; }

  // Calls body with the views of the two vectors of outputs that the panel of the rows from n on has.
  template <class Body>
  HWY_INLINE void WithViews(int64_t n, const Body& body) const {
    const int64_t rows = end - n;
    if (rows >= kPanelColumns)
      body(WholeView(), WholeView());
    else
      body(TailView{std::min<int64_t>(rows, kWordLanes)}, TailView{std::max<int64_t>(rows - kWordLanes, 0)});
  }
};

// A panel stays in the cache while all tokens pass by.
template <class Kind, class Store>
HWY_INLINE void MultiplyByVectors(const Panels& panels, const Store& store) {
  const TokenPieces<kPanelTokens> pieces(panels.token_begin, panels.token_end - panels.token_begin);
  const auto multiply = [&](auto tokens, int64_t m, int64_t n, auto left, auto right) HWY_ATTR {
    constexpr int kTokens = decltype(tokens)::value;
    typename Kind::Sum sums[kTokens][2];
    HWY_UNROLL(16)
    for (int t = 0; t < kTokens; ++t) {
      sums[t][0] = store.Start(left, m + t, n, panels.begins);
      sums[t][1] = store.Start(right, m + t, n + kWordLanes, panels.begins);
    }
    AddPanel<Kind, kTokens>(panels.panel(n), panels.token(m), panels.x_bytes, panels.words, sums);
    HWY_UNROLL(16)
    for (int t = 0; t < kTokens; ++t) {
      store.Finish(left, sums[t][0], m + t, n, panels.ends);
      store.Finish(right, sums[t][1], m + t, n + kWordLanes, panels.ends);
    }
  };
  for (int64_t n = panels.first; n < panels.end; n += kPanelColumns)
    for (int64_t piece = 0; piece < pieces.count; ++piece)
      pieces.with_size(piece, [&](auto tokens) HWY_ATTR {
        panels.WithViews(n, [&](auto left, auto right)
                                HWY_ATTR { multiply(tokens, pieces.start(piece), n, left, right); });
      });
}

// A block of tokens stays in the cache while all panels pass by: tiles are fast enough to wait for tokens
// that come from further away.
template <class Kind, class Store>
HWY_INLINE void MultiplyByTiles(const Panels& panels, TileShape& shape, const Store& store) {
  HWY_ALIGN Word sums[kBlockSide * kPanelColumns];
  for (int64_t m = panels.token_begin; m < panels.token_end; m += kBlockSide) {
    const BlockShape block{std::min(kBlockSide, panels.token_end - m), kPanelColumns};
    shape.Use(block);
    for (int64_t n = panels.first; n < panels.end; n += kPanelColumns) {
      MultiplyBlock<Kind::kKind, false>(block, panels.token(m), panels.x_bytes, panels.panel(n), panels.words,
                                        reinterpret_cast<std::byte*>(sums), kPanelColumns * sizeof(Word));
      panels.WithViews(n, [&](auto left, auto right) HWY_ATTR {
        const auto finish = [&](auto view, const Word* from, int64_t token, int64_t row) HWY_ATTR {
          const auto sum = hn::BitCast(typename Kind::Tag(), hn::Load(Words(), from));
          store.Finish(view, hn::Add(sum, store.Start(view, token, row, panels.begins)), token, row,
                       panels.ends);
        };
        for (int64_t t = 0; t < block.rows; ++t) {
          finish(left, sums + t * kPanelColumns, m + t, n);
          finish(right, sums + t * kPanelColumns + kWordLanes, m + t, n + kWordLanes);
        }
      });
    }
  }
}

// As Dots, for inputs (M, depth) that are contiguous. Rows are whole words.
template <class Kind, class Store>
void PackedDots(const void* data, int64_t row_bytes, int64_t begin, int64_t end, const void* inputs,
                int64_t token_begin, int64_t token_end, const Store& store) {
  constexpr int64_t kWordBytes = sizeof(Word);
  const int64_t words = row_bytes / kWordBytes;
  if (words == 0) return;
  const auto* weights = static_cast<const std::byte*>(data);
  const auto* x = static_cast<const std::byte*>(inputs);
  HWY_ALIGN Word packed[kPanelWords * kPanelColumns];
  const auto for_panels = [&](const auto& multiply) HWY_ATTR {
    const int64_t rows = std::max<int64_t>(kPanelWords / words, 1) * kPanelColumns;
    for (int64_t first = begin; first < end; first += rows) {
      const int64_t last = std::min(end, first + rows);
      for (int64_t at = 0; at < words; at += kPanelWords) {
        const int64_t depth = std::min(kPanelWords, words - at), offset = at * kWordBytes;
        const Panels panels{packed, depth,      at == 0,   at + depth == words, first,
                            last,   x + offset, row_bytes, token_begin,         token_end};
        for (int64_t n = first; n < last; n += kPanelColumns)
          PackWords<Prefetch::next_rows>(weights + n * row_bytes + offset, row_bytes,
                                         std::min<int64_t>(kPanelColumns, last - n), 2 * depth, depth,
                                         Kind::kFlip, packed + (n - first) * depth);
        multiply(panels);
      }
    }
  };
  if (has_tiles() && words % kTileSide == 0) {
    TileShape shape;
    for_panels([&](const Panels& panels) HWY_ATTR { MultiplyByTiles<Kind>(panels, shape, store); });
  } else {
    for_panels([&](const Panels& panels) HWY_ATTR { MultiplyByVectors<Kind>(panels, store); });
  }
}

#endif  // HWY_AVX3

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
