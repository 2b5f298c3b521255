#include "mega/report/table.h"

#include <gtest/gtest.h>

#include "mega/base/strings.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

Table example() {
  Table table({"model", "parameters", "speed"});
  table.add({"lra-text", "990,996", "2.9×"});
  table.add({"größer", "-", "10.25×"});
  return table;
}

TEST(Table, PlainAlignsNumbersToTheRight) {
  EXPECT_EQ(example().plain(),
            "model     parameters   speed\n"
            "--------  ----------  ------\n"
            "lra-text     990,996    2.9×\n"
            "größer             -  10.25×\n");
}

TEST(Table, Markdown) {
  EXPECT_EQ(example().markdown(),
            "| model    | parameters |  speed |\n"
            "| -------- | ---------: | -----: |\n"
            "| lra-text |    990,996 |   2.9× |\n"
            "| größer   |          - | 10.25× |\n");
  Table bars({"a|b"});
  bars.add({"x|y\nz"});
  EXPECT_EQ(bars.markdown(), "| a\\|b   |\n| ------ |\n| x\\|y z |\n");
}

TEST(Table, CsvQuotesWhereNeeded) {
  Table table({"name", "text"});
  table.add({"a", "plain"});
  table.add({"b", "one, \"two\"\nthree"});
  EXPECT_EQ(table.csv(), "name,text\na,plain\nb,\"one, \"\"two\"\"\nthree\"\n");
}

TEST(Table, WordsAreNotNumbers) {
  Table table({"what"});
  table.add({"12 layers of which"});
  table.add({"1"});
  EXPECT_EQ(table.plain(), "what\n------------------\n12 layers of which\n1\n");
}

TEST(Table, FitsTheWidth) {
  Table table({"preset", "parameters", "description"});
  table.add({"text-small", "990,996", "classifies texts, small enough to learn in minutes on two cores"});
  table.add({"x", "1", "short"});
  EXPECT_EQ(table.fitted(100), table.plain());
  EXPECT_EQ(table.fitted(60),
            "preset      parameters  description\n"
            "----------  ----------  ------------------------------------\n"
            "text-small     990,996  classifies texts, small enough to\n"
            "                        learn in minutes on two cores\n"
            "x                    1  short\n");
  EXPECT_EQ(table.fitted(30),
            "preset      parameters\n"
            "----------  ----------\n"
            "text-small     990,996\n"
            "x                    1\n")
      << "the last column is left out";
  EXPECT_EQ(table.fitted(5),
            "prese\nt\n"
            "-----\n"
            "text-\nsmall\n"
            "x\n");
  for (int64_t width = 1; width < 110; ++width)
    for (const std::string& line : split(table.fitted(width), '\n')) EXPECT_LE(display_width(line), width);
}

TEST(Table, WrapsWideCharacters) {
  Table table({"name"});
  table.add({"訓練訓練 Größe"});
  EXPECT_EQ(table.fitted(5), "name\n-----\n訓練\n訓練\nGröße\n");
}

// Class names come from data, and may head columns too.
TEST(Table, CellsDoNotSpeakToTheTerminal) {
  Table table({"\x1b[2J", "b"});
  table.add({"a\u009b31m\r", "x\ny\xff"});
  EXPECT_EQ(table.plain(),
            "\\x1b[2J       b\n"
            "------------  ----\n"
            "a\\u009b31m\\r  x y\uFFFD\n");
  EXPECT_EQ(table.markdown().find_first_of("\x1b\r"), std::string::npos);
}

TEST(Table, EmptyTableHasAHeader) { EXPECT_EQ(Table({"a"}).plain(), "a\n-\n"); }

TEST(Table, RejectsRowsOfWrongLength) {
  Table table({"a", "b"});
  EXPECT_THROW(table.add({"1"}), Error);
}

}  // namespace
}  // namespace mega
