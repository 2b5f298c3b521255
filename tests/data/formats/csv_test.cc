#include "mega/data/formats/csv.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;

char found(std::vector<std::string> lines) { return find_delimiter(lines); }

TEST(Delimiter, IsFoundFromTheFirstLines) {
  EXPECT_EQ(found({"label,text", "1,a; b", "0,c | d"}), ',');
  EXPECT_EQ(found({"label;text", "1;good, but long", "0;bad"}), ';');
  EXPECT_EQ(found({"label\ttext", "1\tgood, but long", "0\tbad"}), '\t');
  EXPECT_EQ(found({"label|text|id", "1|a, b|7", "0|c; d|8"}), '|');
}

TEST(Delimiter, QuotedFieldsAreRespected) {
  EXPECT_EQ(found({"text;label", "\"a; b; c\";1", "\"d", "e, f\";0", "g;1"}), ';');
  EXPECT_EQ(found({"text,label", "\"a;b\",1", "\"c;d\",0", "\"e;f\",1"}), ',');
}

TEST(Delimiter, CommaWhereNothingSpeaksForAnother) {
  EXPECT_EQ(found({}), ',');
  EXPECT_EQ(found({""}), ',');
  EXPECT_EQ(found({"text", "a; b", "c; d"}), ',') << "the first line has one column";
  EXPECT_EQ(found({"a; b", "c", "d", "e"}), ',') << "few lines have the other";
  EXPECT_EQ(found({"1,a; b", "0,c; d"}), ',') << "both fit";
  EXPECT_EQ(found({"\"never closed; a", "b; c"}), ',');
}

TEST(Delimiter, AsAnOption) {
  EXPECT_EQ(parse_delimiter(""), 0);
  EXPECT_EQ(parse_delimiter("auto"), 0);
  EXPECT_EQ(parse_delimiter(";"), ';');
  EXPECT_EQ(parse_delimiter("tab"), '\t');
  EXPECT_EQ(parse_delimiter("\t"), '\t');
  EXPECT_EQ(parse_delimiter("semicolon"), ';');
  for (const char* wrong : {";;", "x", "\"", "\n", "7"})
    EXPECT_PRED2(contains, error_of([&] { parse_delimiter(wrong); }),
                 "data.delimiter: expected one character");
}

TEST(DivideCsv, OtherDelimiters) {
  Cells cells;
  EXPECT_EQ(divide_csv("\"a;b\";'c;d';e,f", ';', cells), "");
  EXPECT_EQ(cells, (Cells{"a;b", "'c", "d'", "e,f"})) << "single quotes are ordinary characters";
  EXPECT_EQ(divide_csv("\"a\"|b", '|', cells), "");
  EXPECT_PRED2(contains, divide_csv("\"a\",b", ';', cells), "after a closing quote comes \",b\", not \";\"");
}

TEST(DivideCsv, HostileRows) {
  Cells cells;
  EXPECT_PRED2(contains, divide_csv(std::string(50'000'000, ';'), ';', cells), "more than 10000 columns");
  EXPECT_EQ(divide_csv(std::string_view("a\0b;\0", 5), ';', cells), "");
  EXPECT_EQ(cells, (Cells{std::string("a\0b", 3), std::string(1, '\0')}));
  EXPECT_EQ(found({std::string(10'000'000, ';'), std::string(10'000'000, '"'), std::string(1000, '\0')}),
            ',');
}

}  // namespace
}  // namespace mega::data
