// Splits rows over libtorch's threads.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

namespace mega::ops {

// Calls body(begin, end) on contiguous ranges of rows of at least several thousand elements each.
template <class Body>
void parallel_rows(int64_t rows, int64_t columns, const Body& body) {
  at::parallel_for(0, rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, columns)), body);
}

// For sums over rows: pieces of fixed size, each with its own partial sum. This is more accurate than one
// long sum, and identical for any number of threads.
inline constexpr int64_t kPieceRows = 1024;
inline int64_t pieces_of(int64_t rows) { return (rows + kPieceRows - 1) / kPieceRows; }

template <class Body>
void parallel_pieces(int64_t rows, const Body& body) {
  at::parallel_for(0, pieces_of(rows), 1, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece)
      body(piece, piece * kPieceRows, std::min(rows, (piece + 1) * kPieceRows));
  });
}

}  // namespace mega::ops
