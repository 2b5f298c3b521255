#include "mega/data/formats/separated_lines.h"

#include <gtest/gtest.h>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

// Lines as "number:cell|cell ".
std::string read(std::string_view content, std::string_view delimiter = "") {
  const ScratchFolder folder;
  write_file(folder / "a", content);
  SeparatedLines lines(folder / "a", delimiter);
  std::string result;
  std::vector<std::string_view> cells;
  for (std::string line; lines.next(line);) {
    lines.divide(line, cells);
    result += std::to_string(lines.number()) + ":";
    for (const std::string_view cell : cells) result += std::string(cell) + "|";
    result += " ";
  }
  return result;
}

TEST(SeparatedLines, WhatLeavesNumbersSeparates) {
  EXPECT_EQ(read("walk,1,2\n"), "1:walk|1|2| ");
  EXPECT_EQ(read("big dog\t1\t2\n"), "1:big dog|1|2| ");
  EXPECT_EQ(read("  1   2 3\n"), "1:1|2|3| ");
  EXPECT_EQ(read("walk;1.5;2\n"), "1:walk|1.5|2| ");
  EXPECT_EQ(read("walk|1|2\n"), "1:walk|1|2| ");
  EXPECT_EQ(read("walk;0,5;1,5\n"), "1:walk|0,5|1,5| ");
  EXPECT_EQ(read("0,5;0,7\n"), "1:0,5|0,7| ");
  EXPECT_EQ(read("id;time;x\na, b;2020-01-01;5\n"), "1:id|time|x| 2:a, b|2020-01-01|5| ");
  EXPECT_EQ(read("1 2,3\n", "space"), "1:1|2,3| ") << "as the user says";
  EXPECT_PRED2(contains, error_of([] { read("1,2", "xy"); }), "data.delimiter");
}

TEST(SeparatedLines, MarksEndingsEmptyLinesAndQuotes) {
  EXPECT_EQ(read("\xEF\xBB\xBF\"a\", \"1\"\r\n\r\n  \nb,2"), "1:a|1| 4:b|2| ");
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read(std::string_view("a\0,1\n", 5)), std::string("1:a\0|1| ", 8));
}

TEST(SeparatedLines, Numbers) {
  const ScratchFolder folder;
  write_file(folder / "a", "x;0,5;1\n");
  const SeparatedLines german(folder / "a", "");
  double number = 0;
  EXPECT_TRUE(german.parse_number("-0,25", number));
  EXPECT_EQ(number, -0.25);
  EXPECT_TRUE(german.parse_number("+3e1", number));
  EXPECT_EQ(number, 30);
  for (const char* wrong : {"1,2,3", "", "1x", "0x10", "+-1"})
    EXPECT_FALSE(german.parse_number(wrong, number)) << wrong;
  write_file(folder / "b", "x\t0.5\n");
  EXPECT_FALSE(SeparatedLines(folder / "b", "").parse_number("0,5", number));
}

TEST(SeparatedLines, LinesAheadAreGivenStill) {
  const ScratchFolder folder;
  std::string content;
  for (int i = 0; i < 50; ++i) content += std::to_string(i) + "\n";
  write_file(folder / "a", content);
  SeparatedLines lines(folder / "a", "");
  EXPECT_EQ(lines.ahead().size(), 20u);
  std::string line;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(line, std::to_string(i));
    EXPECT_EQ(lines.number(), i + 1);
  }
  EXPECT_FALSE(lines.next(line));
}

}  // namespace
}  // namespace mega::data
