#include "mega/base/hash.h"

#include <array>
#include <bit>
#include <cstring>

#include "mega/base/random.h"

namespace mega {
namespace {

// Arbitrary odd constants.
constexpr uint64_t kSpread = 0x9E6C63D0876A9A47U;
constexpr uint64_t kMix = 0xD6E8FEB86659FD93U;
constexpr int kTurn = 29;

// Words are distributed over lanes, because each multiplication depends on the previous one of its lane.
constexpr size_t kLanes = 4;
constexpr size_t kWord = sizeof(uint64_t);
constexpr size_t kBlock = kLanes * kWord;
using Lanes = std::array<uint64_t, kLanes>;

uint64_t little_endian_word(const std::byte* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, kWord);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// Every step is invertible, so that two different words never give the same lane. The first product spreads
// single bits before they are mixed with other words.
void add_block(Lanes& lanes, const std::byte* block) {
  for (size_t i = 0; i < kLanes; ++i)
    lanes[i] = std::rotl(lanes[i] ^ little_endian_word(block + i * kWord) * kSpread, kTurn) * kMix;
}

}  // namespace

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  Lanes lanes = {kMix, kSpread, ~kMix, ~kSpread};
  size_t done = 0;
  for (; done + kBlock <= bytes.size(); done += kBlock) add_block(lanes, bytes.data() + done);
  if (done < bytes.size()) {
    std::array<std::byte, kBlock> rest{};
    std::memcpy(rest.data(), bytes.data() + done, bytes.size() - done);
    add_block(lanes, rest.data());
  }
  uint64_t hash = bytes.size();  // so that trailing zeros change the hash
  for (const uint64_t lane : lanes) hash = mix_bits(hash ^ lane);
  return mix_bits(hash ^ mix_bits(seed + kSpread));
}

}  // namespace mega
