#include "mega/report/table.h"

#include <gtest/gtest.h>

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
