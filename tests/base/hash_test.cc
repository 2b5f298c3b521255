#include "mega/base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "mega/base/files/tensor_hash.h"
#include "mega/base/random.h"

namespace mega {
namespace {

// Hashes are stored in files: these values must never change.
TEST(Hash, ValuesAreFixed) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i * 37);
  EXPECT_EQ(hash_text(""), 0xDE49615521CEF2CDU);
  EXPECT_EQ(hash_text("mega"), 0x1BE2FCD6BC7AC865U);
  EXPECT_EQ(hash_text(text), 0x0224921E9A3A6F70U);
  EXPECT_EQ(hash_text(text, 7), 0x7B2B6711B1AAD5E1U);
}

TEST(Hash, DependsOnEveryBit) {
  for (const size_t length : {1u, 7u, 8u, 31u, 32u, 33u, 100u}) {
    const std::string text(length, 'x');
    std::set<uint64_t> seen = {hash_text(text)};
    for (size_t bit = 0; bit < 8 * length; ++bit) {
      std::string changed = text;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
      EXPECT_TRUE(seen.insert(hash_text(changed)).second) << length << " bytes, bit " << bit;
    }
  }
}

TEST(Hash, DependsOnLength) {
  std::set<uint64_t> seen;
  for (size_t length = 0; length < 200; ++length)
    EXPECT_TRUE(seen.insert(hash_text(std::string(length, '\0'))).second) << length;
}

// Two flipped bits far apart do not cancel.
TEST(Hash, PairsOfBitsDoNotCancel) {
  const std::string text(96, '\0');
  std::set<uint64_t> seen;
  for (size_t first = 0; first < 8 * text.size(); ++first) {
    for (size_t second = 0; second < first; ++second) {
      std::string changed = text;
      changed[first / 8] = static_cast<char>(changed[first / 8] ^ (1 << first % 8));
      changed[second / 8] = static_cast<char>(changed[second / 8] ^ (1 << second % 8));
      EXPECT_TRUE(seen.insert(hash_text(changed)).second) << first << " and " << second;
    }
  }
}

// A flipped input bit flips each bit of the hash with probability of about 1/2.
TEST(Hash, HasAvalancheEffect) {
  constexpr int kTexts = 2000;
  std::vector<int> flips(64);
  for (int i = 0; i < kTexts; ++i) {
    std::string text(40, '\0');
    for (size_t k = 0; k < text.size(); ++k)
      text[k] = static_cast<char>(stream_seed(static_cast<uint64_t>(i), "text", k));
    const uint64_t before = hash_text(text);
    const size_t bit = stream_seed(static_cast<uint64_t>(i), "bit") % (8 * text.size());
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    const uint64_t difference = before ^ hash_text(text);
    for (size_t k = 0; k < 64; ++k) flips[k] += static_cast<int>(difference >> k & 1);
  }
  for (const int count : flips) EXPECT_NEAR(count, kTexts / 2, kTexts / 10);  // nine standard deviations
}

TEST(Hash, SeedsChain) {
  EXPECT_NE(hash_text("b", hash_text("a")), hash_text("a", hash_text("b")));
  EXPECT_NE(hash_text("b", hash_text("a")), hash_text("ab"));
  EXPECT_NE(hash_text("", hash_text("ab")), hash_text("b", hash_text("a")));
}

TEST(TensorHash, DependsOnEverythingButOrder) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const auto bytes = std::as_bytes(std::span(values));
  const TensorView a{"a", DType::F32, {2, 3}, bytes}, b{"b", DType::F32, {6}, bytes};
  const uint64_t hash = hash_tensors({a, b});
  EXPECT_EQ(hash_tensors({b, a}), hash);
  EXPECT_NE(hash_tensors({a}), hash);
  EXPECT_NE(hash_tensors({a, b}, 1), hash);
  const auto changed = [&](const TensorView& other) { return hash_tensors({other, b}); };
  EXPECT_NE(changed({"c", DType::F32, {2, 3}, bytes}), hash);
  EXPECT_NE(changed({"a", DType::I32, {2, 3}, bytes}), hash);
  EXPECT_NE(changed({"a", DType::F32, {3, 2}, bytes}), hash);
  EXPECT_NE(changed({"a", DType::F32, {5}, bytes.first(20)}), hash);
}

}  // namespace
}  // namespace mega
