// Products of matrices of words by the CPU's tile registers (AMX), which multiply 16 rows by 16 columns at
// once over a depth of 16 words. Included where AVX-512 is compiled; call only where has_tiles().
//
// Inline assembly, because the intrinsics would need a separately compiled instruction set.
#if defined(MEGA_KERNELS_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEGA_KERNELS_TILES_INL_H_
#undef MEGA_KERNELS_TILES_INL_H_
#else
#define MEGA_KERNELS_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mega/kernels/words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3

inline constexpr int64_t kTileSide = 16;              // rows, columns and words of depth of a tile
inline constexpr int64_t kBlockSide = 2 * kTileSide;  // of the four tiles of sums that are in registers

// Of a block, at most kBlockSide each. The registers 0 to 3 hold its sums, 0 and 1 those of the upper rows, 0
// and 2 those of the left columns; 4 and 5 hold left factors, 6 and 7 right ones.
struct BlockShape {
  int64_t rows = 0, columns = 0;
  bool operator==(const BlockShape&) const = default;
};

// Settings of the tile registers, as the CPU reads them.
struct alignas(64) TileSettings {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t column_bytes[16] = {};
  uint8_t rows[16] = {};

  void Set(int tile, int64_t tile_rows, int64_t columns) {
    if (tile_rows <= 0 || columns <= 0) return;  // not used
    rows[tile] = static_cast<uint8_t>(std::min(kTileSide, tile_rows));
    column_bytes[tile] = static_cast<uint16_t>(std::min(kTileSide, columns) * sizeof(Word));
  }
};

// The shape of the blocks that follow, while the object lives.
class TileShape {
 public:
  TileShape() = default;
  TileShape(const TileShape&) = delete;
  TileShape& operator=(const TileShape&) = delete;
  ~TileShape() { asm volatile("tilerelease"); }

  void Use(BlockShape shape) {
    if (shape == shape_) return;
    shape_ = shape;
    TileSettings settings;
    const int64_t lower = shape.rows - kTileSide, right = shape.columns - kTileSide;
    settings.Set(0, shape.rows, shape.columns);
    settings.Set(1, shape.rows, right);
    settings.Set(2, lower, shape.columns);
    settings.Set(3, lower, right);
    settings.Set(4, shape.rows, kTileSide);
    settings.Set(5, lower, kTileSide);
    settings.Set(6, kTileSide, shape.columns);
    settings.Set(7, kTileSide, right);
    asm volatile("ldtilecfg %0" : : "m"(settings));
  }

 private:
  BlockShape shape_;
};

template <int kTile>
HWY_INLINE void ZeroTile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
template <int kTile>
HWY_INLINE void LoadTile(const std::byte* rows, int64_t row_bytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(rows), "r"(row_bytes), "i"(kTile) : "memory");
}
template <int kTile>
HWY_INLINE void StoreTile(std::byte* rows, int64_t row_bytes) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(rows), "r"(row_bytes), "i"(kTile) : "memory");
}

// What a word is. Bytes are signed in left factors, and unsigned in right ones.
enum class WordKind { bfloats, bytes };

template <WordKind kKind, int kLeft, int kRight, int kSum>
HWY_INLINE void MultiplyTiles() {
  if constexpr (kKind == WordKind::bfloats)
    asm volatile("tdpbf16ps %%tmm%c1, %%tmm%c0, %%tmm%c2" : : "i"(kLeft), "i"(kRight), "i"(kSum));
  else
    asm volatile("tdpbsud %%tmm%c1, %%tmm%c0, %%tmm%c2" : : "i"(kLeft), "i"(kRight), "i"(kSum));
}

// out (rows, columns) = left (rows, words) * panel (words, kPanelColumns), or += with kAccumulate; rows of
// `left` and `out` are so many bytes apart. `words` is a multiple of kTileSide, and the shape the one in use.
// Each sum is computed in the order of the depth, whatever the shape.
template <WordKind kKind, bool kAccumulate>
HWY_INLINE void MultiplyBlock(BlockShape shape, const std::byte* left, int64_t left_bytes, const Word* panel,
                              int64_t words, std::byte* out, int64_t out_bytes) {
  constexpr int64_t kTileBytes = kTileSide * sizeof(Word), kPanelBytes = kPanelColumns * sizeof(Word);
  const bool below = shape.rows > kTileSide, beside = shape.columns > kTileSide;
  std::byte* const lower = out + kTileSide * out_bytes;
  const auto start = [&](auto tile, std::byte* from) HWY_ATTR {
    if constexpr (kAccumulate)
      LoadTile<decltype(tile)::value>(from, out_bytes);
    else
      ZeroTile<decltype(tile)::value>();
  };
  const auto for_sums = [&](const auto& call) HWY_ATTR {
    call(std::integral_constant<int, 0>(), out);
    if (beside) call(std::integral_constant<int, 1>(), out + kTileBytes);
    if (below) call(std::integral_constant<int, 2>(), lower);
    if (below && beside) call(std::integral_constant<int, 3>(), lower + kTileBytes);
  };
  for_sums(start);
  const auto* right = reinterpret_cast<const std::byte*>(panel);
  for (int64_t w = 0; w < words; w += kTileSide, left += kTileBytes, right += kTileSide * kPanelBytes) {
    LoadTile<4>(left, left_bytes);
    LoadTile<6>(right, kPanelBytes);
    MultiplyTiles<kKind, 4, 6, 0>();
    if (beside) {
      LoadTile<7>(right + kTileBytes, kPanelBytes);
      MultiplyTiles<kKind, 4, 7, 1>();
    }
    if (below) {
      LoadTile<5>(left + kTileSide * left_bytes, left_bytes);
      MultiplyTiles<kKind, 5, 6, 2>();
      if (beside) MultiplyTiles<kKind, 5, 7, 3>();
    }
  }
  for_sums([&](auto tile, std::byte* to) HWY_ATTR { StoreTile<decltype(tile)::value>(to, out_bytes); });
}

#endif  // HWY_AVX3

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
