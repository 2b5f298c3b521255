#include "mega/report/terminal.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "mega/base/strings.h"

namespace mega {
namespace {

using Lines = std::vector<std::string>;

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_EQ(wrap("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap("one two three", 80), (Lines{"one two three"}));
  EXPECT_EQ(wrap("  one   two ", 80), (Lines{"  one   two"})) << "spaces within a line are kept";
  EXPECT_EQ(wrap("one     two", 7), (Lines{"one", "two"}));
  EXPECT_EQ(wrap("   ", 2), (Lines{""}));
  EXPECT_EQ(wrap("", 5), (Lines{""}));
  EXPECT_EQ(wrap("a\n\nb c", 1), (Lines{"a", "", "b", "c"}));
}

TEST(Wrap, CutsWordsLongerThanALine) {
  EXPECT_EQ(wrap("a longword b", 4), (Lines{"a", "long", "word", "b"}));
  EXPECT_EQ(wrap("Größe", 4), (Lines{"Größ", "e"}));
  EXPECT_EQ(wrap("訓練", 3), (Lines{"訓", "練"}));
  EXPECT_EQ(wrap("訓練", 1), (Lines{"訓", "練"})) << "a character wider than the line";
  EXPECT_EQ(wrap("ab", 0), (Lines{"a", "b"}));
}

TEST(Wrap, AcceptsAnyBytes) {
  const std::string broken = "\xff\xfe \xc3 \x80\x80\x80";
  for (int64_t width = 1; width < 10; ++width)
    for (const std::string& line : wrap(broken, width)) EXPECT_LE(display_width(line), width);
}

TEST(PrefixOfWidth, TakesWholeCharacters) {
  EXPECT_EQ(prefix_of_width("Größe", 3), "Grö");
  EXPECT_EQ(prefix_of_width("a訓", 2), "a");
  EXPECT_EQ(prefix_of_width("e\u0301x", 1), "e\u0301") << "marks belong to their character";
  EXPECT_EQ(prefix_of_width("abc", 0), "");
}

TEST(TerminalWidth, FollowsTheVariableWithoutATerminal) {
  std::FILE* file = std::fopen("/dev/null", "w");
  ASSERT_NE(file, nullptr);
  const auto width_with = [&](const char* columns) {
    ::setenv("COLUMNS", columns, 1);
    return terminal_width(file);
  };
  EXPECT_EQ(width_with("120"), 120);
  for (const char* wrong : {"", "0", "-5", "wide", "80x", "99999999999999999999"})
    EXPECT_EQ(width_with(wrong), 80) << wrong;
  ::unsetenv("COLUMNS");
  EXPECT_EQ(terminal_width(file), 80);
  EXPECT_FALSE(is_terminal(file));
  std::fclose(file);
}

}  // namespace
}  // namespace mega
