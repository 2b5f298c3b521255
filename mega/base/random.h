// Named random streams from one seed: each consumer (initialisation of a layer, order of an epoch, dropout)
// has its own stream, so that adding a consumer does not change the numbers of the others.
#pragma once

#include <cstdint>
#include <string_view>

namespace mega {

// The finaliser of SplitMix64: every input bit affects every output bit.
constexpr uint64_t mix_bits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBU;
  x ^= x >> 31;
  return x;
}

// The seed of the stream `name`, e.g. ("dropout", step). Depends only on its arguments.
constexpr uint64_t stream_seed(uint64_t seed, std::string_view name, uint64_t index = 0) {
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15U;
  uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3U;
  }
  hash = mix_bits(hash + mix_bits(seed + kGoldenRatio));
  return mix_bits(hash + mix_bits(index + kGoldenRatio));
}

// Random numbers (SplitMix64), the same on every platform, unlike the distributions of the standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15U;
    return mix_bits(state_);
  }

  // Uniform in [0, 1), 53 bits.
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  // Uniform in 0 .. count - 1; count > 0. Rejection sampling, because the last, incomplete range of
  // remainders would favour small numbers.
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

}  // namespace mega
