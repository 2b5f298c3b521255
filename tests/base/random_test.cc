#include "mega/base/random.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace mega {
namespace {

TEST(Random, StreamsAreFixedForever) {
  // A change here would change every seeded run.
  static_assert(stream_seed(1, "dropout") == stream_seed(1, "dropout", 0));
  EXPECT_EQ(stream_seed(0, ""), 8415781558883711937u);
  EXPECT_EQ(stream_seed(1, "dropout", 7), 2776370509986760967u);
}

TEST(Random, StreamsDiffer) {
  std::set<uint64_t> seeds;
  for (uint64_t seed = 0; seed < 20; ++seed)
    for (const char* name : {"", "a", "b", "ab", "ba", "dropout", "init"})
      for (uint64_t index = 0; index < 50; ++index) seeds.insert(stream_seed(seed, name, index));
  EXPECT_EQ(seeds.size(), 20u * 7u * 50u);
}

}  // namespace
}  // namespace mega
