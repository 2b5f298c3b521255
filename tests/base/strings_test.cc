#include "mega/base/strings.h"

#include <gtest/gtest.h>

#include <limits>

namespace mega {
namespace {

TEST(Text, JoinAndSplitAreInverse) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
  EXPECT_EQ(join(split("a,,b", ','), ","), "a,,b");
  EXPECT_EQ(join({}, ","), "");
}

TEST(Text, Trim) {
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, QuotesEscapeControlCharacters) {
  EXPECT_EQ(in_quotes("plain"), "\"plain\"");
  EXPECT_EQ(in_quotes("a\"b\\c\x1b[31m\n"), "\"a\\\"b\\\\c\\x1b[31m\\x0a\"");
  EXPECT_LT(in_quotes(std::string(1'000'000, 'x')).size(), 100u);
  // Truncation does not split a character.
  EXPECT_EQ(in_quotes(std::string(79, 'x') + "é" + std::string(50, 'y')),
            "\"" + std::string(79, 'x') + "...\"");
}

TEST(Text, WordsOfAShellCanBePasted) {
  EXPECT_EQ(shell_word("model.kind=s4"), "model.kind=s4");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("data.label_pattern=([0-9])_"), "'data.label_pattern=([0-9])_'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word("~/é"), "'~/é'");
}

TEST(Text, NearestFindsTheIntendedName) {
  const std::vector<std::string> known = {"width", "hidden", "attention", "chunk"};
  EXPECT_EQ(nearest("widht", known), "width");
  EXPECT_EQ(nearest("atention", known), "attention");
  EXPECT_EQ(nearest("zebra", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest(std::string(100'000, 'w'), known), "");
}

TEST(Text, Thousands) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(252'237'824), "252,237,824");
  EXPECT_EQ(with_thousands(-1000), "-1,000");
  EXPECT_EQ(with_thousands(-100), "-100");
  EXPECT_EQ(with_thousands(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, Bytes) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<uint64_t>::max()), "16.0 EiB");
}

TEST(Text, Seconds) {
  EXPECT_EQ(human_seconds(0.0042), "4.2 ms");
  EXPECT_EQ(human_seconds(2e-6), "2 us");
  EXPECT_EQ(human_seconds(1.5), "1.5 s");
  EXPECT_EQ(human_seconds(59.97), "1 min 0 s");
  EXPECT_EQ(human_seconds(75), "1 min 15 s");
  EXPECT_EQ(human_seconds(8100), "2 h 15 min");
  EXPECT_EQ(human_seconds(3599.9), "1 h 0 min");
  EXPECT_EQ(human_seconds(90000), "1 d 1 h");
  EXPECT_EQ(human_seconds(std::numeric_limits<double>::infinity()), "?");
}

TEST(Text, DisplayWidthCountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("2.9×"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("漢字"), 4);
  EXPECT_LE(display_width("\xff\xfe\xe6"), 6) << "invalid UTF-8 has no defined width, but must not crash";
}

}  // namespace
}  // namespace mega
