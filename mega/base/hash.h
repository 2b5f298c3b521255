// The hash of contents: finds damaged data, and tells one thing from another. Fast; no protection against
// somebody who wants two texts to have the same one. Files in the field carry it, so it must not change.
// (stream_seed in mega/base/random.h is for seeds of random numbers.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mega {

// The same on every machine. A change within one aligned word of 8 bytes, or of the seed alone, always
// changes it; other changes go unnoticed once in 2^64. Several pieces in a row are hashed by giving each the
// hash of those before it as its seed; where one ends counts then too.
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);

inline uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  return hash_bytes(std::as_bytes(std::span(text)), seed);
}

// By its digits: the same whatever the order of bytes in memory.
inline uint64_t hash_number(uint64_t number, uint64_t seed = 0) {
  return hash_text(std::to_string(number), seed);
}

}  // namespace mega
