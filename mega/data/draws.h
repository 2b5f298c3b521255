// Random numbers for generators of data, the same on every platform: the distributions of the standard
// library are not.
#pragma once

#include <cstdint>

#include "mega/base/random.h"

namespace mega::data {

// SplitMix64.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15U;
    return mix_bits(state_);
  }

  // 0 <= x < 1, of 53 bits.
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  // Uniform in 0 .. count - 1; count > 0. Draws again where the last, incomplete round of remainders would
  // favour the small ones.
  int64_t below(int64_t count) {
    const auto n = static_cast<uint64_t>(count);
    const uint64_t incomplete = (0 - n) % n;
    uint64_t x = bits();
    while (x < incomplete) x = bits();
    return static_cast<int64_t>(x % n);
  }

  // Uniform in low .. high, both included.
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }

 private:
  uint64_t state_;
};

}  // namespace mega::data
