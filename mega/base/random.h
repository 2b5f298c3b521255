// Named random streams from one seed: each consumer (the initialisation of a layer, the order of an epoch, a
// dropout) has a stream of its own, so that adding one consumer does not move the numbers of the others.
#pragma once

#include <cstdint>
#include <string_view>

namespace mega {

// The finaliser of SplitMix64: every bit of the input reaches every bit of the output.
constexpr uint64_t mix_bits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBU;
  x ^= x >> 31;
  return x;
}

// The seed of the stream `name`, e.g. ("dropout", step). Depends on nothing but its arguments.
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

}  // namespace mega
