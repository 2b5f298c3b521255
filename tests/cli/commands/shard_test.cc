#include "cli/commands/shard.h"

#include <gtest/gtest.h>

namespace mega::cli {
namespace {

TEST(Shard, PartsFollowEachOtherAndAreEquallyLarge) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  for (const int64_t inputs : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{1000}, kLargest})
    for (const int64_t parts : {1, 2, 3, 7, 11}) {
      int64_t next = 0;
      for (int64_t part = 1; part <= parts; ++part) {
        const InputRange range = Shard{part, parts}.range(inputs);
        EXPECT_EQ(range.begin, next);
        EXPECT_GE(range.end - range.begin, inputs / parts);
        EXPECT_LE(range.end - range.begin - inputs / parts, 1);
        next = range.end;
      }
      EXPECT_EQ(next, inputs);
    }
  EXPECT_TRUE(Shard().is_whole());
}

TEST(Shard, OnlyAPartOfThemIsAccepted) {
  const auto parsed = [](const std::string& text) {
    CLI::App app;
    Shard shard;
    add_shard(app, shard);
    app.parse("--shard=" + text);
    return shard;
  };
  EXPECT_EQ(parsed("2/3").part, 2);
  EXPECT_EQ(parsed("2/3").parts, 3);
  EXPECT_TRUE(parsed("1/1").is_whole());
  for (const char* text : {"0/0", "0/2", "3/2", "-1/2", "1/-2", "1", "1/", "/2", "1/2/3", "1/2x", "x/2",
                           "one", "1.0/2", "99999999999999999999/2", "1/99999999999999999999"})
    EXPECT_THROW(parsed(text), CLI::ValidationError) << text;
}

}  // namespace
}  // namespace mega::cli
