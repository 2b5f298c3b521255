// The loop order of a product with a weight matrix: tiles of a few weight rows and a few tokens, whose sums
// stay in registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace mega::kernels {

// Weight rows per tile. With a single token, only many rows provide enough independent accumulators.
inline constexpr int kRowsOfTile = 4;
inline constexpr int kRowsOfLoneToken = 8;

// Size of a block of tokens that stays in the L2 cache while the weights stream by.
inline constexpr int64_t kBlockBytes = 1 << 18;

// Calls call(count) with 1 <= count <= kMost as a compile-time constant.
template <int kMost, class Call>
void with_constant(int64_t count, const Call& call) {
  if constexpr (kMost > 1)
    if (count < kMost) return with_constant<kMost - 1>(count, call);
  call(std::integral_constant<int, kMost>());
}

// Which rows form a tile of several tokens. `apart`: each row lies in its own strip of the matrix and
// advances through it row by row, so that memory is read as several long streams that the hardware prefetcher
// follows; it misses streams that share a page, as adjacent rows often do. `neighbours`: adjacent rows, whose
// outputs are contiguous and can be finished and stored together, which pays off where products take few
// bytes and few instructions.
enum class TileRows { apart, neighbours };

// Calls tile(rows, tokens, first, step, m) for tiles of the weight rows first, first + step, ... and the
// tokens from m on, with `rows` and `tokens` as compile-time constants. The tiles cover [begin, end) and
// [token_begin, token_end). Rows may exceed `end`; tokens stay in range. Tiles of a single token always use
// rows that are `apart`.
template <int kMostTokens, TileRows kTileRows, class Tile>
void for_tiles(int64_t begin, int64_t end, int64_t token_begin, int64_t token_end, int64_t token_bytes,
               const Tile& tile) {
  const auto for_rows = [&](auto rows, auto lie, const auto& body) {
    const int64_t strip = (end - begin + rows - 1) / rows;
    if constexpr (lie() == TileRows::apart)
      for (int64_t n = begin; n < begin + strip; ++n) body(n, strip);
    else
      for (int64_t n = begin; n < end; n += rows) body(n, 1);
  };
  const std::integral_constant<TileRows, TileRows::apart> apart;
  if (token_end - token_begin == 1) {
    const std::integral_constant<int, kRowsOfLoneToken> rows;
    return for_rows(rows, apart, [&](int64_t n, int64_t step) {
      tile(rows, std::integral_constant<int, 1>(), n, step, token_begin);
    });
  }
  const int64_t block = std::max<int64_t>(kBlockBytes / (token_bytes + 1) / kMostTokens, 1) * kMostTokens;
  for (int64_t first = token_begin; first < token_end; first += block) {
    const int64_t tokens = std::min(block, token_end - first);
    const int64_t pieces = (tokens + kMostTokens - 1) / kMostTokens;
    const std::integral_constant<int, kRowsOfTile> rows;
    for_rows(rows, std::integral_constant<TileRows, kTileRows>(), [&](int64_t n, int64_t step) {
      // Pieces of nearly equal size: 7 tokens become 4 + 3, not 6 + 1.
      for (int64_t piece = 0; piece < pieces; ++piece) {
        const int64_t m = first + tokens * piece / pieces, next = first + tokens * (piece + 1) / pieces;
        with_constant<kMostTokens>(next - m, [&](auto count) { tile(rows, count, n, step, m); });
      }
    });
  }
}

}  // namespace mega::kernels
