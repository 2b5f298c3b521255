// Products of matrix blocks that fit into cache. Included once per instruction set.
//
// The right factor is packed into panels of PanelWidth() columns, each panel row-major, so that the inner
// loop reads it as one stream. Elements of the left factor are broadcast and addressed by two strides, so a
// transposed left factor costs nothing extra.
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

struct LeftFactor {
  const float* data;
  int64_t row_stride;
  int64_t depth_stride;
};

template <int kRows, bool kAccumulate>
HWY_INLINE void MultiplyTile(LeftFactor a, const float* HWY_RESTRICT panel, int64_t depth,
                             float* HWY_RESTRICT out, int64_t out_stride, int64_t columns) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  Vector left[kRows], right[kRows];
  for (int r = 0; r < kRows; ++r) left[r] = right[r] = hn::Zero(d);
  const float* HWY_RESTRICT rows = a.data;
  for (int64_t k = 0; k < depth; ++k, rows += a.depth_stride, panel += 2 * lanes) {
    const Vector b0 = hn::Load(d, panel);
    const Vector b1 = hn::Load(d, panel + lanes);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const Vector value = hn::Set(d, rows[r * a.row_stride]);
      left[r] = hn::MulAdd(value, b0, left[r]);
      right[r] = hn::MulAdd(value, b1, right[r]);
    }
  }
  if (columns == 2 * lanes) {
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r, out += out_stride) {
      if constexpr (kAccumulate) {
        left[r] = hn::Add(left[r], hn::LoadU(d, out));
        right[r] = hn::Add(right[r], hn::LoadU(d, out + lanes));
      }
      hn::StoreU(left[r], d, out);
      hn::StoreU(right[r], d, out + lanes);
    }
    return;
  }
  HWY_ALIGN float tail[2 * HWY_MAX_BYTES / sizeof(float)];
  for (int r = 0; r < kRows; ++r, out += out_stride) {
    hn::Store(left[r], d, tail);
    hn::Store(right[r], d, tail + lanes);
    for (int64_t c = 0; c < columns; ++c) out[c] = tail[c] + (kAccumulate ? out[c] : 0.0f);
  }
}

// out (rows, columns) = A (rows, depth) * packed B (depth, columns), or += with kAccumulate.
template <bool kAccumulate>
HWY_INLINE void Multiply(int64_t rows, int64_t columns, int64_t depth, LeftFactor a, const float* packed,
                         float* out, int64_t out_stride) {
  const int64_t panel = PanelWidth();
  for (int64_t j = 0; j < columns; j += panel, packed += depth * panel) {
    const int64_t width = std::min(panel, columns - j);
    int64_t i = 0;
    const auto tile = [&](auto count) HWY_ATTR {
      constexpr int kRows = decltype(count)::value;
      for (; i + kRows <= rows; i += kRows) {
        const LeftFactor part{a.data + i * a.row_stride, a.row_stride, a.depth_stride};
        MultiplyTile<kRows, kAccumulate>(part, packed, depth, out + i * out_stride + j, out_stride, width);
      }
    };
    tile(std::integral_constant<int, kTileRows>());
    tile(std::integral_constant<int, 4>());
    tile(std::integral_constant<int, 1>());
  }
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
