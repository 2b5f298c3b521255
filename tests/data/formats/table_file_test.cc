#include "mega/data/formats/table_file.h"

#include <gtest/gtest.h>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

// What a table of text and label gives: rows as "line:text|label", problems as "!where what".
struct Wanted {
  std::string text = {};
  std::string label = {};
  Header header = Header::automatic;
  std::string delimiter = {};
};

std::string read(const char* name, std::string_view content, const Wanted& wanted = {}) {
  const ScratchFolder folder;
  write_file(folder / name, content);
  const std::vector<Column> columns = {
      {.title = "text", .option = "text_column", .requested = wanted.text, .names = {"text", "review"}},
      {.title = "label",
       .option = "label_column",
       .requested = wanted.label,
       .names = {"label", "y"},
       .is_text = false}};
  const auto last_and_first = [](const std::vector<Cells>& sample) {
    const size_t width = sample[0].size();
    return width < 2 ? std::vector<size_t>{} : std::vector<size_t>{width - 1, 0};
  };
  TableFile table(folder / name, name, columns, wanted.header, last_and_first, wanted.delimiter);
  Problems problems(true);
  std::string result;
  for (Cells cells; table.next(cells, problems);) {
    result += table.where().substr(std::string(name).size() + 1) + ":" + cells[0] + "|" + cells[1] + " ";
  }
  for (const Problem& problem : problems.first()) result += "!" + problem.where + " " + problem.what;
  return result;
}

std::string error_in(const char* name, std::string_view content, const Wanted& wanted = {}) {
  return error_of([&] { read(name, content, wanted); });
}

TEST(Csv, QuotesCommasAndLineBreaks) {
  EXPECT_EQ(read("a.csv", "label,text\n1,plain\n0,\"a, \"\"b\"\"\"\n1,\"two\nlines\"\n0,5\" disk\n"),
            "2:plain|1 3:a, \"b\"|0 4:two\nlines|1 6:5\" disk|0 ");
  EXPECT_EQ(read("a.csv", "1,\"\"\"\"\n"), "1:\"|1 ");
}

TEST(Csv, CarriageReturnsByteOrderMarkAndEmptyLines) {
  EXPECT_EQ(read("a.csv",
                 "\xEF\xBB\xBF"
                 "label,text\r\n\r\n1,a\r\n0,\"b\r\nc\"\r\n\r\n"),
            "3:a|1 4:b\nc|0 ");
  EXPECT_EQ(read("a.csv", "\xEF\xBB\xBF\"label\",\"text\"\n1,a"), "2:a|1 ");
}

TEST(Csv, BrokenRowsAreProblemsWithTheirLine) {
  EXPECT_EQ(read("a.csv", "0,a\n1,b,c\n0,d\n1\n"),
            "1:a|0 3:d|0 !a.csv:2 3 columns where 2 are expected; a text with commas needs quotes around it"
            "!a.csv:4 1 column where 2 are expected; a text with commas needs quotes around it");
  EXPECT_EQ(read("a.csv", "0,a\n,b\n1,\n1,\"\"\n0,e"),
            "1:a|0 5:e|0 !a.csv:2 the label is empty!a.csv:3 the text is empty!a.csv:4 the text is empty");
  EXPECT_PRED2(contains, read("a.csv", "0,a\n1,\"b\"c\n"), "!a.csv:2 after a closing quote comes \"c\"");
}

TEST(Csv, Dialects) {
  EXPECT_EQ(read("a.csv", "label;text\n1;a, b\n0;\"c; d\ne\"\n"), "2:a, b|1 3:c; d\ne|0 ");
  EXPECT_EQ(read("a.csv", "\xEF\xBB\xBFlabel|text\r\n1|a, b\r\n0|'c'\r\n"), "2:a, b|1 3:'c'|0 ");
  EXPECT_EQ(read("a.csv", "label\ttext\n1\ta, b\n0\tc; d\n"), "2:a, b|1 3:c; d|0 ");
  EXPECT_EQ(read("a", "1;a, b\n0;c\n"), "1:a, b|1 2:c|0 ");
  EXPECT_PRED2(
      contains, read("a.csv", "label;text\n1;a\n0;b;c\n1;d\n0;e\n"),
      "2:a|1 4:d|1 5:e|0 !a.csv:3 3 columns where 2 are expected; a text with \";\" needs quotes around it");
  EXPECT_EQ(read("a.csv", "label,text\n1,a; b\n", {.delimiter = "comma"}), "2:a; b|1 ");
  EXPECT_EQ(read("a.csv", "label~text\n1~a,b\n", {.delimiter = "~"}), "2:a,b|1 ");
  EXPECT_EQ(read("a.tsv", "label;text\n1;a\tb\n", {.delimiter = ";"}), "2:a\tb|1 ");
  EXPECT_PRED2(contains, error_in("a.csv", "1,a\n", {.delimiter = "ab"}),
               "data.delimiter: expected one character");
}

TEST(Csv, AnUnclosedQuoteIsReportedWhereItOpens) {
  EXPECT_PRED2(contains, read("a.csv", "0,a\n1,\"b\n0,c\n0,d\n"),
               "1:a|0 !a.csv:2 a quote is opened in this row");
  EXPECT_PRED2(contains, read("a.csv", "\"0,a\n1,b"), "!a.csv:1 a quote is opened");
  EXPECT_PRED2(contains, error_in("a.csv", "\"label,text\n", {.header = Header::yes}),
               "a.csv:1: not a readable header");
}

TEST(Tsv, StrayQuotesAreOrdinaryCharacters) {
  EXPECT_EQ(read("a.tsv", "0\t\"Wow\" she said\n1\tsaid \"no\"\n0\t\"open\n1\t\"\n0\tend\"\n"),
            "1:\"Wow\" she said|0 2:said \"no\"|1 3:\"open|0 4:\"|1 5:end\"|0 ");
}

TEST(Tsv, CellsQuotedAsAWholeAreUnquoted) {
  EXPECT_EQ(read("a.tsv", "0\t\"a \"\"b\"\"\"\n1\t\"c\td\"\n\"0\"\t\"\"\"\"\n"),
            "1:a \"b\"|0 2:c\td|1 3:\"|0 ");
  EXPECT_EQ(read("a.tsv", "text\tlabel\n\"a\tb\"\t0\nc\t1\n"), "2:a\tb|0 3:c|1 ");
  // Divided at every tab this row has the right number of cells: the quotes do not hold them together.
  EXPECT_EQ(read("a.tsv", "0\t\"a\tb\"\n1\tx\ty\n2\tx\ty\n"), "1:b\"|0 2:y|1 3:y|2 ");
}

TEST(Tsv, ATextInTheLastColumnKeepsItsTabs) {
  EXPECT_EQ(read("a.tsv", "0\t7\ta\n1\t8\tb\tc\td\n0\t9\te\n"), "1:a|0 2:b\tc\td|1 3:e|0 ");
  EXPECT_EQ(read("a.tsv", "0\t7\ta\tb\n1\t8\tc\n0\t9\te\n"), "1:a\tb|0 2:c|1 3:e|0 ")
      << "most rows say how wide the table is, not the first";
  EXPECT_PRED2(contains, read("a.tsv", "text\tlabel\na\tb\t0\nc\t1\n"), "3:c|1 !a.tsv:2 3 columns where 2");
  EXPECT_PRED2(contains, read("a.tsv", "0\t7\ta\n1\t8\n0\t9\te\n"),
               "!a.tsv:2 2 columns where 3 are expected");
}

TEST(Tsv, AnyBytesAreText) {
  const std::string bytes("\xFF\xFE\x00\x80", 4);
  EXPECT_EQ(read("a.tsv", "0\t" + bytes + "\n"), "1:" + bytes + "|0 ");
}

TEST(Tsv, ALongLine) {
  const std::string text(10'000'000, 'x');
  EXPECT_EQ(read("a.tsv", "0\t" + text + "\n1\tb\n"), "1:" + text + "|0 2:b|1 ");
  const std::string tabs(10'000'000, '\t');
  EXPECT_EQ(read("a.tsv", "0\ta\n1\tb" + tabs + "\n0\tc"), "1:a|0 2:b" + tabs + "|1 3:c|0 ");
  EXPECT_PRED2(contains, read("a.tsv", tabs), "more than 10000 columns");
  EXPECT_PRED2(contains, read("a.csv", std::string(10'000'000, ',')), "more than 10000 columns");
}

TEST(Tsv, ManyQuotesTakeTimeInProportion) {
  std::string row = "0\t\"";
  for (int i = 0; i < 2'000'000; ++i) row += "\"\"";
  EXPECT_EQ(read("a.tsv", row + "\"\n"), "1:" + std::string(2'000'000, '"') + "|0 ");
  for (int i = 0; i < 500'000; ++i) row += "\t\"\"\"\"x";
  EXPECT_PRED2(contains, read("a.tsv", "0\ta\n1\tb\n" + row), "1:a|0 2:b|1 3:");
}

TEST(Jsonl, ObjectsWithTextsNumbersAndTruths) {
  EXPECT_EQ(read("a.jsonl",
                 "{\"text\": \"a\\nb\", \"label\": 1}\n\n{\"label\": true, \"text\": \"\\u00e4\"}\n"
                 "{\"id\": [1], \"Text\": \"c\", \"label\": \"x y\"}\r\n"),
            "1:a\nb|1 3:\xC3\xA4|true 4:c|x y ");
  EXPECT_EQ(read("a.jsonl", "{\"text\": \"no\", \"body\": \"yes\", \"kind\": 0.5}",
                 {.text = "body", .label = "kind"}),
            "1:yes|0.5 ");
}

TEST(Jsonl, BrokenLinesAreProblems) {
  const std::string good = "{\"text\": \"a\", \"label\": 1}\n";
  EXPECT_PRED2(contains, read("a.jsonl", "{\"text\": \"a\"\n" + good), "2:a|1 !a.jsonl:1 not valid JSON");
  EXPECT_PRED2(contains, read("a.jsonl", good + "{\"text\": \"\xFF\", \"label\": 1}"),
               "!a.jsonl:2 not valid JSON");
  EXPECT_PRED2(contains, read("a.jsonl", "[1, 2]"), "!a.jsonl:1 not a JSON object");
  EXPECT_PRED2(contains, read("a.jsonl", "{\"text\": \"a\"}"),
               "which is the label? There are \"text\"; set label_column");
  EXPECT_PRED2(contains, read("a.jsonl", "{\"text\": null, \"label\": 1}"),
               "\"text\" is neither text nor a number");
  EXPECT_PRED2(contains, read("a.jsonl", "{\"text\": \"\", \"label\": 1}"), "the text is empty");
  EXPECT_PRED2(contains, read("a.jsonl", std::string(1'000'000, '[')), "nested deeper");
}

TEST(TableFile, KindsAreGuessedFromTheFirstLineWhereTheNameSaysNothing) {
  EXPECT_EQ(read("a.txt", "\n1\ta, b\n"), "2:a, b|1 ");
  EXPECT_EQ(read("a", "1,\"a\"\n"), "1:a|1 ");
  EXPECT_EQ(read("a.data", "\xEF\xBB\xBF{\"text\": \"a\", \"label\": 1}\n"), "1:a|1 ");
}

TEST(TableFile, PackedAndTruncated) {
  const ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i % 7) + "\t" + std::to_string(i * 7919) + "\n";
  OutputStream out(folder / "a.tsv.gz");
  out.write(text);
  out.commit();
  const std::string packed = read_file(folder / "a.tsv.gz");
  EXPECT_EQ(read("a.tsv.gz", packed), read("a.tsv", text));
  EXPECT_PRED2(contains, error_in("a.tsv.gz", packed.substr(0, packed.size() / 2)), "a.tsv.gz");
}

TEST(TableFile, EmptyFiles) {
  EXPECT_EQ(read("a.csv", ""), "");
  EXPECT_EQ(read("a.csv", "\n\r\n\n"), "");
  EXPECT_EQ(read("a.jsonl", ""), "");
  EXPECT_EQ(read("a.tsv", "label\ttext\n"), "");
}

TEST(Header, IsSeenInTheUsualNames) {
  EXPECT_EQ(read("a.csv", "id,Review , Label\n7,a,1\n"), "2:a|1 ");
  EXPECT_EQ(read("a.csv", "label,whatever\n1,a\n"), "2:a|1 ") << "two columns: the other one is the text";
  EXPECT_EQ(read("a.csv", "y,a\nn,b\n"), "1:a|y 2:b|n ") << "y may be a label";
  EXPECT_EQ(read("a.csv", "y,text\n1,b\n"), "2:b|1 ");
  EXPECT_EQ(read("a.csv", "label,text\n1,a\n", {.header = Header::no}), "1:text|label 2:a|1 ");
  EXPECT_EQ(read("a.csv", "one,two\n1,a\n", {.text = "2", .header = Header::yes}), "2:a|1 ");
}

TEST(Header, RequestedNamesAndNumbers) {
  EXPECT_EQ(read("a.csv", "id,words,kind,text\n7,a,1,b\n", {.text = "words", .label = "kind"}), "2:a|1 ");
  EXPECT_EQ(read("a.csv", "7,a,1,b\n8,c,0,d\n", {.text = "4", .label = "3"}), "1:b|1 2:d|0 ");
  EXPECT_EQ(read("a.csv", "x,1\ny,0\n", {.label = "2"}), "1:x|1 2:y|0 ");
  EXPECT_EQ(read("a.csv", "label,text,text\n1,a,b\n", {.text = "3"}), "2:b|1 ");
}

TEST(Header, AnIdIsNoLabel) {
  for (const char* header : {"id,text\n", "text,Index\n", ",text\n"})
    EXPECT_PRED2(contains, error_in("a.csv", header + std::string("7,a\n8,b\n")),
                 "which column is the label?")
        << header;
  EXPECT_EQ(read("a.csv", "id,text\n7,a\n8,b\n", {.label = "id"}), "2:a|7 3:b|8 ")
      << "unless the user says so";
}

TEST(Header, ErrorsSayWhatToSet) {
  EXPECT_PRED2(contains, error_in("a.csv", "label,text,text\n1,a,b\n"),
               "a.csv: two columns are called \"text\"; set text_column to the number");
  EXPECT_PRED2(contains, error_in("a.csv", "label,words,id\n1,a,2\n"),
               "which column is the text? There are \"label\", \"words\", \"id\"; set text_column");
  EXPECT_PRED2(contains, error_in("a.csv", "label,words\n1,a\n", {.text = "word"}),
               "did you mean \"words\"?");
  EXPECT_PRED2(contains, error_in("a.csv", "1,a\n", {.text = "words"}), "no column \"words\" (text_column)");
  EXPECT_PRED2(contains, error_in("a.csv", "1,a\n", {.text = "3"}),
               "text_column = 3, but there are only 2 columns");
  EXPECT_PRED2(contains, error_in("a.csv", "1,a\n", {.text = "1", .label = "1"}),
               "would be both text and label");
  EXPECT_PRED2(contains, error_in("a.csv", "1\n2\n"),
               "there is only 1 column, but text and label are needed");
}

TEST(PlainLabel, WholeNumbersLoseTheirPoint) {
  EXPECT_EQ(plain_label("1.0"), "1");
  EXPECT_EQ(plain_label(" -2.000 "), "-2");
  EXPECT_EQ(plain_label("1.0000000e+00"), "1");
  EXPECT_EQ(plain_label("-0.0"), "0");
  for (const char* label : {"1", "007", "1.5", "1.0.0", "v1.0", "a b", "1e300", "nan", "."})
    EXPECT_EQ(plain_label(label), label);
}

}  // namespace
}  // namespace mega::data
