// Products of matrix blocks that fit into cache, of float or of bf16. Included once per instruction set.
//
// The right factor is packed into panels of PanelWidth() columns, each panel row-major, so that the inner
// loop reads it as one stream. Elements of the left factor are broadcast and addressed by two strides, so a
// transposed left factor costs nothing extra. An element of bf16 factors is a pair of values that are
// neighbours along the depth; their products are added in float. Products by tiles want rows of the left
// factor that are contiguous, and a depth in units of theirs: the rest is filled with zeros.
#if defined(MEGA_KERNELS_MATMUL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEGA_KERNELS_MATMUL_INL_H_
#undef MEGA_KERNELS_MATMUL_INL_H_
#else
#define MEGA_KERNELS_MATMUL_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "mega/kernels/elementwise-inl.h"
#include "mega/kernels/tiles-inl.h"
#include "mega/kernels/words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kTileRows x 2 vectors of the product stay in registers: 16 of 32, or 12 of 16.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr int kTileRows = 8;
#else
inline constexpr int kTileRows = 6;
#endif

HWY_INLINE int64_t PanelWidth() { return 2 * static_cast<int64_t>(hn::Lanes(Floats())); }

HWY_INLINE int64_t PackedSize(int64_t depth, int64_t columns) {
  const int64_t panel = PanelWidth();
  return (columns + panel - 1) / panel * panel * depth;
}

// Packs B (depth, columns), whose element (k, j) is at b[k * row_stride + j * column_stride].
HWY_INLINE void PackPanels(const float* HWY_RESTRICT b, int64_t row_stride, int64_t column_stride,
                           int64_t depth, int64_t columns, float* HWY_RESTRICT packed) {
  const Floats d;
  const int64_t panel = PanelWidth();
  for (int64_t j = 0; j < columns; j += panel) {
    const int64_t width = std::min(panel, columns - j);
    if (column_stride == 1 && width == panel) {
      for (int64_t k = 0; k < depth; ++k, packed += panel) {
        const float* row = b + k * row_stride + j;
        hn::StoreU(hn::LoadU(d, row), d, packed);
        hn::StoreU(hn::LoadU(d, row + panel / 2), d, packed + panel / 2);
      }
      continue;
    }
    // Column by column: the usual caller packs a transposed matrix, whose columns are contiguous.
    for (int64_t c = 0; c < panel; ++c) {
      const float* column = b + (j + c) * column_stride;
      if (c < width) {
        for (int64_t k = 0; k < depth; ++k) packed[k * panel + c] = column[k * row_stride];
      } else {
        for (int64_t k = 0; k < depth; ++k) packed[k * panel + c] = 0.0f;
      }
    }
    packed += depth * panel;
  }
}

// Packs the transpose of B (columns, depth): neighbours along the depth lie next to each other. An element of
// float is one value, so that the packed depth is the depth.
HWY_INLINE void PackTransposed(const float* b, int64_t stride, int64_t depth, int64_t /*packed_depth*/,
                               int64_t columns, float* packed) {
  PackPanels(b, 1, stride, depth, columns, packed);
}
// Packs B (depth, columns).
HWY_INLINE void PackRows(const float* b, int64_t stride, int64_t depth, int64_t /*packed_depth*/,
                         int64_t columns, float* packed) {
  PackPanels(b, stride, 1, depth, columns, packed);
}

// ---- bf16 ------------------------------------------------------------------------------------------------

using Pair = uint32_t;  // two bf16 values, the first in the lower half
using Pairs = hn::Rebind<Pair, Floats>;

HWY_INLINE int64_t PairsOf(int64_t count) { return (count + 1) / 2; }

// Beyond the depth, pairs are filled with 0, up to `pairs` of them.
HWY_INLINE void PackTransposed(const uint16_t* b, int64_t stride, int64_t depth, int64_t pairs,
                               int64_t columns, Pair* packed) {
  const int64_t panel = PanelWidth();
  for (int64_t j = 0; j < columns; j += panel, packed += pairs * panel) {
#if HWY_TARGET == HWY_AVX3
    PackWords<Prefetch::nothing>(reinterpret_cast<const std::byte*>(b + j * stride),
                                 stride * static_cast<int64_t>(sizeof(*b)), std::min(panel, columns - j),
                                 depth, pairs, 0, packed);
#else
    std::fill_n(packed, pairs * panel, 0);
    for (int64_t c = 0; c < std::min(panel, columns - j); ++c) {
      const uint16_t* column = b + (j + c) * stride;
      for (int64_t k = 0; k < depth / 2; ++k)
        packed[k * panel + c] = column[2 * k] | static_cast<Pair>(column[2 * k + 1]) << 16;
      if (depth % 2 != 0) packed[depth / 2 * panel + c] = column[depth - 1];
    }
#endif
  }
}

HWY_INLINE void PackRows(const uint16_t* b, int64_t stride, int64_t depth, int64_t pairs, int64_t columns,
                         Pair* packed) {
  const Pairs d;
  const Bfloats narrow;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), panel = PanelWidth();
  const auto pair = [&](const uint16_t* first, const uint16_t* second) HWY_ATTR {
    return hn::Or(hn::PromoteTo(d, hn::LoadU(narrow, first)),
                  hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(narrow, second))));
  };
  for (int64_t j = 0; j < columns; j += panel) {
    const int64_t width = std::min(panel, columns - j);
    for (int64_t k = 0; k < depth; k += 2, packed += panel) {
      const uint16_t* first = b + k * stride + j;
      const uint16_t* second = first + stride;
      if (width == panel && k + 1 < depth) {
        hn::StoreU(pair(first, second), d, packed);
        hn::StoreU(pair(first + lanes, second + lanes), d, packed + lanes);
        continue;
      }
      for (int64_t c = 0; c < panel; ++c)
        packed[c] = c >= width       ? 0
                    : k + 1 == depth ? first[c]
                                     : first[c] | static_cast<Pair>(second[c]) << 16;
    }
    const int64_t missing = (pairs - PairsOf(depth)) * panel;
    std::fill_n(packed, missing, 0);
    packed += missing;
  }
}

// ---- products --------------------------------------------------------------------------------------------

// How elements are multiplied and added up; what a depth becomes.
struct FloatProduct {
  using Element = float;
  using Tag = Floats;
  static constexpr bool kTiles = false;
  static HWY_INLINE int64_t Depth(int64_t count) { return count; }
  static HWY_INLINE Vector Add(Vector a, Vector b, Vector sum) { return hn::MulAdd(a, b, sum); }
};

// By what pairs are multiplied: float arithmetic, AVX512-BF16, AMX.
enum class PairArithmetic { floats, vectors, tiles };

template <PairArithmetic kArithmetic>
struct PairProduct {
  using Element = Pair;
  using Tag = Pairs;
  static constexpr bool kTiles = kArithmetic == PairArithmetic::tiles;
  static HWY_INLINE int64_t Depth(int64_t count) {
    constexpr int64_t kUnit = kTiles ? 16 : 1;
    return (PairsOf(count) + kUnit - 1) / kUnit * kUnit;
  }
  static HWY_INLINE Vector Add(hn::Vec<Pairs> a, hn::Vec<Pairs> b, Vector sum) {
#if HWY_TARGET == HWY_AVX3
    if constexpr (kArithmetic == PairArithmetic::vectors) {
      // Inline assembly, because the intrinsic would need a separately compiled instruction set.
      asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
      return sum;
    }
#endif
    const Floats d;
    const auto first = [&](auto pair) HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<16>(pair)); };
    const auto second = [&](auto pair)
                            HWY_ATTR { return hn::BitCast(d, hn::And(pair, hn::Set(Pairs(), 0xFFFF0000u))); };
    return hn::MulAdd(first(a), first(b), hn::MulAdd(second(a), second(b), sum));
  }
};

template <class Element>
struct LeftFactor {
  const Element* data;
  int64_t row_stride;
  int64_t depth_stride;
};

template <class Product, int kRows, bool kAccumulate>
HWY_INLINE void MultiplyTile(LeftFactor<typename Product::Element> a,
                             const typename Product::Element* HWY_RESTRICT panel, int64_t depth,
                             float* HWY_RESTRICT out, int64_t out_stride, int64_t columns) {
  const Floats d;
  const typename Product::Tag elements;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  Vector left[kRows], right[kRows];
  for (int r = 0; r < kRows; ++r) left[r] = right[r] = hn::Zero(d);
  const auto* HWY_RESTRICT rows = a.data;
  for (int64_t k = 0; k < depth; ++k, rows += a.depth_stride, panel += 2 * lanes) {
    const auto b0 = hn::Load(elements, panel);
    const auto b1 = hn::Load(elements, panel + lanes);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const auto value = hn::Set(elements, rows[r * a.row_stride]);
      left[r] = Product::Add(value, b0, left[r]);
      right[r] = Product::Add(value, b1, right[r]);
    }
  }
  const auto finish = [&](auto view, Vector sum, float* to)
                          HWY_ATTR { view.Store(kAccumulate ? hn::Add(sum, view.Load(to)) : sum, to); };
  if (columns == 2 * lanes) {
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r, out += out_stride) {
      finish(WholeView(), left[r], out);
      finish(WholeView(), right[r], out + lanes);
    }
  } else if (columns > lanes) {
    for (int r = 0; r < kRows; ++r, out += out_stride) {
      finish(WholeView(), left[r], out);
      finish(TailView{columns - lanes}, right[r], out + lanes);
    }
  } else {
    for (int r = 0; r < kRows; ++r, out += out_stride) finish(TailView{columns}, left[r], out);
  }
}

// out (rows, columns) = A (rows, depth) * packed B (depth, columns), or += with kAccumulate. The depth counts
// elements.
template <class Product, bool kAccumulate>
requires(!Product::kTiles) HWY_INLINE
    void Multiply(int64_t rows, int64_t columns, int64_t depth, LeftFactor<typename Product::Element> a,
                  const typename Product::Element* packed, float* out, int64_t out_stride) {
  const int64_t panel = PanelWidth();
  for (int64_t j = 0; j < columns; j += panel, packed += depth * panel) {
    const int64_t width = std::min(panel, columns - j);
    int64_t i = 0;
    const auto tile = [&](auto count) HWY_ATTR {
      constexpr int kRows = decltype(count)::value;
      for (; i + kRows <= rows; i += kRows) {
        const LeftFactor<typename Product::Element> part{a.data + i * a.row_stride, a.row_stride,
                                                         a.depth_stride};
        MultiplyTile<Product, kRows, kAccumulate>(part, packed, depth, out + i * out_stride + j, out_stride,
                                                  width);
      }
    };
    tile(std::integral_constant<int, kTileRows>());
    tile(std::integral_constant<int, 4>());
    tile(std::integral_constant<int, 1>());
  }
}

#if HWY_TARGET == HWY_AVX3
template <class Product, bool kAccumulate>
requires(Product::kTiles) HWY_INLINE
    void Multiply(int64_t rows, int64_t columns, int64_t depth, LeftFactor<Pair> a, const Pair* packed,
                  float* out, int64_t out_stride) {
  constexpr int64_t kBytes = sizeof(float);
  static_assert(sizeof(Pair) == kBytes);
  TileShape shape;
  for (int64_t j = 0; j < columns; j += kPanelColumns, packed += depth * kPanelColumns) {
    for (int64_t i = 0; i < rows; i += kBlockSide) {
      const BlockShape block{std::min(kBlockSide, rows - i), std::min<int64_t>(kPanelColumns, columns - j)};
      shape.Use(block);
      MultiplyBlock<WordKind::bfloats, kAccumulate>(
          block, reinterpret_cast<const std::byte*>(a.data + i * a.row_stride), a.row_stride * kBytes, packed,
          depth, reinterpret_cast<std::byte*>(out + i * out_stride + j), out_stride * kBytes);
    }
  }
}
#endif

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
