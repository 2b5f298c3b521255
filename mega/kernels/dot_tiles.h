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
inline constexpr int64_t kBlockBytes = 1 << 19;

// Size of a band of weight rows that stays in the L1 cache while many tokens stream by.
inline constexpr int64_t kBandBytes = 1 << 15;
// From this many tiles of tokens on, sums take longer than reading the weights, and bands pay off.
inline constexpr int64_t kManyPieces = 4;

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

// How a product runs through its matrices.
struct TileRange {
  int64_t begin = 0, end = 0;              // weight rows
  int64_t token_begin = 0, token_end = 0;  // tokens
  int64_t row_bytes = 0, token_bytes = 0;  // of a weight row, of a token
};

// Tokens in pieces of nearly equal size: 7 tokens become 4 + 3, not 6 + 1.
template <int kMostTokens>
struct TokenPieces {
  TokenPieces(int64_t begin, int64_t size)
      : first(begin), tokens(size), count((size + kMostTokens - 1) / kMostTokens) {}

  int64_t start(int64_t piece) const { return first + tokens * piece / count; }
  template <class Call>
  void with_size(int64_t piece, const Call& call) const {
    with_constant<kMostTokens>(start(piece + 1) - start(piece), call);
  }

  int64_t first, tokens, count;
};

// What a tile of a band fetches of the next band: a part of a row, which is a whole one after 0 halvings.
// Memory is read at an even pace, and so does not stop the products.
struct NextBand {
  int64_t row;    // the band's first
  int64_t parts;  // fetched before
  int halvings;
};

// Many tokens: a band of weight rows stays in the L1 cache, and meanwhile the next one is fetched. Calls
// tile(rows, tokens, first, m, next) for tiles of adjacent rows from `first` on and of the tokens from m on.
template <class Pieces, class Tile>
void for_bands(const TileRange& range, const Pieces& pieces, const Tile& tile) {
  const std::integral_constant<int, kRowsOfTile> rows;
  const int64_t band = std::max<int64_t>(kBandBytes / ((range.row_bytes + 1) * rows), 1) * rows;
  int halvings = 0;
  while (rows << (halvings + 1) <= pieces.count) ++halvings;
  for (int64_t top = range.begin; top < range.end; top += band) {
    const int64_t bottom = std::min(range.end, top + band);
    NextBand next{bottom, 0, halvings};
    for (int64_t piece = 0; piece < pieces.count; ++piece)
      pieces.with_size(piece, [&](auto count) {
        for (int64_t n = top; n < bottom; n += rows) {
          tile(rows, count, n, pieces.start(piece), next);
          if (next.parts < band << halvings) ++next.parts;
        }
      });
  }
}

// Calls tile(rows, tokens, first, step, m) for tiles of the weight rows first, first + step, ... and the
// tokens from m on, with `rows` and `tokens` as compile-time constants. The tiles cover the range. Rows may
// exceed its end; tokens stay in range. Tiles of a single token always use rows that are `apart`, those of
// many tokens are those of for_bands.
template <int kMostTokens, TileRows kTileRows, class Tile, class BandTile>
void for_tiles(const TileRange& range, const Tile& tile, const BandTile& band_tile) {
  const auto for_rows = [&](auto rows, auto lie, const auto& body) {
    const int64_t strip = (range.end - range.begin + rows - 1) / rows;
    if constexpr (lie() == TileRows::apart)
      for (int64_t n = range.begin; n < range.begin + strip; ++n) body(n, strip);
    else
      for (int64_t n = range.begin; n < range.end; n += rows) body(n, 1);
  };
  const std::integral_constant<TileRows, TileRows::apart> apart;
  if (range.token_end - range.token_begin == 1) {
    const std::integral_constant<int, kRowsOfLoneToken> rows;
    return for_rows(rows, apart, [&](int64_t n, int64_t step) {
      tile(rows, std::integral_constant<int, 1>(), n, step, range.token_begin);
    });
  }
  const int64_t block =
      std::max<int64_t>(kBlockBytes / (range.token_bytes + 1) / kMostTokens, 1) * kMostTokens;
  for (int64_t first = range.token_begin; first < range.token_end; first += block) {
    const TokenPieces<kMostTokens> pieces(first, std::min(block, range.token_end - first));
    if (pieces.count >= kManyPieces) {
      for_bands(range, pieces, band_tile);
      continue;
    }
    const std::integral_constant<int, kRowsOfTile> rows;
    for_rows(rows, std::integral_constant<TileRows, kTileRows>(), [&](int64_t n, int64_t step) {
      for (int64_t piece = 0; piece < pieces.count; ++piece)
        pieces.with_size(piece, [&](auto count) { tile(rows, count, n, step, pieces.start(piece)); });
    });
  }
}

}  // namespace mega::kernels
