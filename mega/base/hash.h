// A fast hash of bytes: tells damaged data, and one thing from another. It is no protection against somebody
// who wants two texts to have the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace mega {

// The same on every machine. A change within one aligned word of 8 bytes, or of the seed alone, always
// changes it; other changes go unnoticed once in 2^64. Several pieces in a row are hashed by giving each the
// hash of those before it as its seed; where one ends counts then too.
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);

inline uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  return hash_bytes(std::as_bytes(std::span(text)), seed);
}

}  // namespace mega
