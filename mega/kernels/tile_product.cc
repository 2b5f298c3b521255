#include "mega/kernels/tile_product.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/tile_product.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "mega/kernels/dispatch.h"
#include "mega/kernels/matmul-inl.h"

#ifndef MEGA_TILE_PRODUCT_ONCE
#define MEGA_TILE_PRODUCT_ONCE
namespace mega::kernels {
namespace {

constexpr int64_t kSide = 32;  // of a block of the product, and of a panel of the right factor

// How a product is divided. A piece of the right factor is packed, and stays in the L2 cache while all rows
// of the left factor pass by.
struct TilePlan {
  int64_t words;    // of the depth, in all
  int64_t depth;    // words of a piece
  int64_t columns;  // of a piece

  template <class Out>
  explicit TilePlan(const TileProduct<Out>& product) {
    constexpr int64_t kTileWords = 16, kLongest = 512, kPacked = 1 << 16;  // 256 KiB
    words = std::max<int64_t>(1, (product.depth + 2 * kTileWords - 1) / (2 * kTileWords)) * kTileWords;
    // Sums of several pieces meet in `out`, so that it has to be of float.
    depth = std::is_same_v<Out, float> ? std::min(words, kLongest) : words;
    const int64_t all = std::max<int64_t>(1, (product.columns + kSide - 1) / kSide) * kSide;
    columns = std::clamp(kPacked / depth / kSide * kSide, kSide, all);
  }
  int64_t right() const { return depth * columns; }
  int64_t left() const { return depth * kSide; }
};

}  // namespace
}  // namespace mega::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3

static_assert(kSide == kBlockSide && kSide == kPanelColumns && kSide == 2 * kTileSide);

// A piece of the depth.
struct DepthPiece {
  int64_t begin, values;  // of the matrices
  int64_t words;          // that they are packed into, with zeros at the end
};

struct LeftRows {
  const std::byte* data;
  int64_t bytes;  // between rows
};

// Rows [m, m + rows) of A at a depth, where they are or copied to `copy`, as words.
HWY_INLINE LeftRows RowsOf(const BfloatMatrix& a, int64_t m, int64_t rows, const DepthPiece& depth,
                           Word* copy) {
  constexpr int64_t kValueBytes = sizeof(uint16_t);
  const LeftRows copied{reinterpret_cast<const std::byte*>(copy), depth.words * int64_t{sizeof(Word)}};
  if (!a.transposed) {
    const uint16_t* from = a.data + m * a.stride + depth.begin;
    if (depth.values == 2 * depth.words)
      return {reinterpret_cast<const std::byte*>(from), a.stride * kValueBytes};
    for (int64_t r = 0; r < rows; ++r, copy += depth.words, from += a.stride) {
      std::fill(copy + depth.values / 2, copy + depth.words, 0);
      std::memcpy(copy, from, static_cast<size_t>(depth.values * kValueBytes));
    }
    return copied;
  }
  const Words d;
  const hn::Rebind<uint16_t, Words> narrow;
  for (int64_t r = 0; r < rows; r += kWordLanes) {
    const auto present = hn::FirstN(narrow, static_cast<size_t>(std::min<int64_t>(kWordLanes, rows - r)));
    const auto load = [&](int64_t k) HWY_ATTR {
      if (k >= depth.values) return hn::Zero(d);
      return hn::PromoteTo(d, hn::MaskedLoad(present, narrow, a.data + (depth.begin + k) * a.stride + m + r));
    };
    for (int64_t w = 0; w < depth.words; w += kWordLanes) {
      WordVector block[kWordLanes];
      HWY_UNROLL(16)
      for (int i = 0; i < kWordLanes; ++i) {
        const int64_t k = 2 * (w + i);
        block[i] = hn::Or(load(k), hn::ShiftLeft<16>(load(k + 1)));
      }
      Transpose(block);
      for (int i = 0; i < kWordLanes; ++i) hn::StoreU(block[i], d, copy + (r + i) * depth.words + w);
    }
  }
  return copied;
}

// Columns [n, n + columns) of B at a depth, in panels.
HWY_INLINE void PackColumns(const BfloatMatrix& b, int64_t n, int64_t columns, const DepthPiece& depth,
                            Word* packed) {
  if (b.transposed)
    PackTransposed(b.data + n * b.stride + depth.begin, b.stride, depth.values, depth.words, columns, packed);
  else
    PackRows(b.data + depth.begin * b.stride + n, b.stride, depth.values, depth.words, columns, packed);
}

// A block of sums on its way to `out`: in place, ...
HWY_INLINE void MultiplyInto(BlockShape shape, const LeftRows& left, const Word* panel, int64_t words,
                             float* out, int64_t stride, bool accumulate, const float* bias, float*) {
  if (bias != nullptr) {
    for (int64_t r = 0; r < shape.rows; ++r)
      ForVectors(shape.columns, [&](auto view, int64_t c) HWY_ATTR {
        float* to = out + r * stride + c;
        const Vector b = view.Load(bias + c);
        view.Store(accumulate ? hn::Add(b, view.Load(to)) : b, to);
      });
    accumulate = true;
  }
  auto* to = reinterpret_cast<std::byte*>(out);
  const int64_t bytes = stride * int64_t{sizeof(float)};
  if (accumulate)
    MultiplyBlock<WordKind::bfloats, true>(shape, left.data, left.bytes, panel, words, to, bytes);
  else
    MultiplyBlock<WordKind::bfloats, false>(shape, left.data, left.bytes, panel, words, to, bytes);
}

// ... or rounded to bf16, from `sums`.
HWY_INLINE void MultiplyInto(BlockShape shape, const LeftRows& left, const Word* panel, int64_t words,
                             uint16_t* out, int64_t stride, bool accumulate, const float* bias, float* sums) {
  MultiplyBlock<WordKind::bfloats, false>(shape, left.data, left.bytes, panel, words,
                                          reinterpret_cast<std::byte*>(sums), kSide * int64_t{sizeof(float)});
  for (int64_t r = 0; r < shape.rows; ++r)
    ForVectors(shape.columns, [&](auto view, int64_t c) HWY_ATTR {
      uint16_t* to = out + r * stride + c;
      Vector value = view.Load(sums + r * kSide + c);
      if (bias != nullptr) value = hn::Add(value, view.Load(bias + c));
      if (accumulate) value = hn::Add(value, view.Load(to));
      view.Store(value, to);
    });
}

template <class Out>
void Product(const TileProduct<Out>& product, float* scratch) {
  const TilePlan plan(product);
  auto* right = reinterpret_cast<Word*>(scratch);
  Word* copy = right + plan.right();
  auto* sums = reinterpret_cast<float*>(copy + plan.left());
  TileShape shape;
  for (int64_t w = 0; w < plan.words; w += plan.depth) {
    const int64_t words = std::min(plan.depth, plan.words - w);
    const DepthPiece depth{2 * w, std::min(2 * words, product.depth - 2 * w), words};
    const bool accumulate = product.accumulate || w > 0;
    const float* bias = w == 0 ? product.bias : nullptr;
    for (int64_t n = 0; n < product.columns; n += plan.columns) {
      const int64_t columns = std::min(plan.columns, product.columns - n);
      PackColumns(product.b, n, columns, depth, right);
      for (int64_t m = 0; m < product.rows; m += kSide) {
        const int64_t rows = std::min(kSide, product.rows - m);
        const LeftRows left = RowsOf(product.a, m, rows, depth, copy);
        for (int64_t j = 0; j < columns; j += kSide) {
          const BlockShape block{rows, std::min(kSide, columns - j)};
          shape.Use(block);
          MultiplyInto(block, left, right + j * words, words, product.out + m * product.out_stride + n + j,
                       product.out_stride, accumulate, bias == nullptr ? nullptr : bias + n + j, sums);
        }
      }
    }
  }
}

#else

template <class Out>
void Product(const TileProduct<Out>&, float*) {}  // there are no tiles

#endif

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT_T(Product);

template <class Out>
int64_t tile_product_scratch(const TileProduct<Out>& product) {
  const TilePlan plan(product);
  return plan.right() + plan.left() + kSide * kSide;
}

template <class Out>
void tile_product(const TileProduct<Out>& product, float* scratch) {
  if (product.rows > 0 && product.columns > 0 && product.depth > 0)
    MEGA_DISPATCH_T(Product, Out)(product, scratch);
}

template int64_t tile_product_scratch(const TileProduct<float>&);
template int64_t tile_product_scratch(const TileProduct<uint16_t>&);
template void tile_product(const TileProduct<float>&, float*);
template void tile_product(const TileProduct<uint16_t>&, float*);

}  // namespace mega::kernels
#endif
