// The hash of file contents, for checksums and cache keys. Not cryptographic: collisions can be constructed.
// Files of earlier versions carry it, so it must not change. (Seeds of random numbers: mega/base/random.h.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mega {

// The same on every machine. A change within one aligned word of 8 bytes, or of the seed alone, always
// changes the hash; other changes collide with probability 2^-64. To hash several pieces, pass the hash of
// the previous ones as seed; the result then depends on where the pieces end.
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);

inline uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  return hash_bytes(std::as_bytes(std::span(text)), seed);
}

// By its digits: the same whatever the order of bytes in memory.
inline uint64_t hash_number(uint64_t number, uint64_t seed = 0) {
  return hash_text(std::to_string(number), seed);
}

}  // namespace mega
