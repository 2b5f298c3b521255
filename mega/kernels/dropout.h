// Dropout as a function of (seed, row, column): nothing is stored for the backward pass, and every
// implementation and thread count produces the same mask.
#pragma once

#include <cstdint>

namespace mega::kernels {

struct Dropout {
  float rate = 0.0f;
  uint64_t seed = 0;

  bool active() const { return rate > 0.0f; }
  // Multiplies the values that are kept.
  float factor() const { return rate < 1.0f ? 1.0f / (1.0f - rate) : 0.0f; }
  // Of the rows from this one on, counted from 0.
  Dropout from(int64_t row) const { return {rate, seed + kRow * static_cast<uint64_t>(row)}; }

  static constexpr uint64_t kRow = 0x9E3779B97F4A7C15u;
};

// The hash key of one row.
inline uint32_t dropout_row_key(const Dropout& dropout, uint64_t row) {
  uint64_t x = dropout.seed + Dropout::kRow * (row + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return static_cast<uint32_t>((x ^ (x >> 31)) >> 32);
}

// Writes the mask of rows [begin, end) of a (rows, columns) matrix, already scaled by 1 / (1 - rate).
void dropout_mask_rows(const Dropout& dropout, float* mask, int64_t begin, int64_t end, int64_t columns);

}  // namespace mega::kernels
