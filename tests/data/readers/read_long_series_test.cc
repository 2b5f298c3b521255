#include <gtest/gtest.h>

#include <sstream>

#include "mega/base/files/file.h"
#include "mega/data/readers/readers.h"
#include "tests/base/helpers.h"
#include "tests/data/records.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

struct Wanted {
  std::string id = "id", time = "", label = "";
  int64_t channels = 1;
};

// Records as "where id value,value,=label; ", problems as "!where what".
std::string read(std::string_view content, const Wanted& wanted = {}) {
  const ScratchFolder folder;
  write_file(folder / "a.csv", content);
  DataOptions options;
  options.id_column = wanted.id;
  options.time_column = wanted.time;
  options.label_column = wanted.label;
  Problems problems(true);
  std::ostringstream text;
  for (const Record& record : testing::collect(read_series, folder / "a.csv", options,
                                               SeriesInput{.channels = wanted.channels}, problems)) {
    text << record.where << " " << record.id << " ";
    for (const float value : record.values) text << value << ",";
    text << "=" << record.label << "; ";
  }
  for (const Problem& problem : problems.first()) text << "!" << problem.where << " " << problem.what;
  return text.str();
}

TEST(LongSeries, RowsOfOneIdAreOneSeries) {
  EXPECT_EQ(read("id,label,x\na,walk,1\na,walk,2\nb,run,3\na,walk,4\n"),
            "a.csv:2 a 1,2,4,=walk; a.csv:4 b 3,=run; ");
  EXPECT_EQ(read("id;label;x;y\na;walk;1;10\na;walk;2;20\n", {.channels = 2}), "a.csv:2 a 1,10,2,20,=walk; ");
}

TEST(LongSeries, TimeGivesTheOrderAndIsNoValue) {
  const std::string rows = "a,10,walk,3\na,9,walk,2\na,9,walk,2.5\n";
  EXPECT_EQ(read("id,time,label,x\n" + rows, {.time = "time"}), "a.csv:2 a 2,2.5,3,=walk; ");
  EXPECT_EQ(read("id,time,label,x\na,2020-02-01,w,2\na,2020-01-31,w,1\n", {.time = "time"}),
            "a.csv:2 a 1,2,=w; ");
  EXPECT_EQ(read(rows, {.id = "1", .time = "2", .label = "3"}), "a.csv:1 a 2,2.5,3,=walk; ")
      << "without header";
}

TEST(LongSeries, BrokenRowsBreakTheirSeries) {
  EXPECT_EQ(
      read("id,label,x\na,w,1\nb,w,2\na,r,3\n"),
      "a.csv:3 b 2,=w; !a.csv:2 line 4: the label is \"r\", and \"w\" in an earlier row of this series");
  EXPECT_EQ(read("id,label,x\na,w,1\na,w,?\nb,w,2\n"),
            "a.csv:4 b 2,=w; !a.csv:2 line 3: \"?\" is not a number");
  EXPECT_PRED2(contains, read("id,label,x\na,w\nb,w,2\n"), "!a.csv:2 line 2: 2 columns where 3 are expected");
  EXPECT_PRED2(contains, read("id,label,x\na,w,inf\n"),
               "!a.csv:2 the value at position 1, channel 1 is infinite");
  EXPECT_PRED2(contains, read("id,label,x\na,,1\n"), "!a.csv:2 the label is empty");
  EXPECT_PRED2(contains, read("id,t,label,x\na,1,w,1\na,noon,w,1\n", {.time = "t"}),
               "the time \"noon\" is not written like that of an earlier row");
  EXPECT_EQ(read(""), "!a.csv no series in this table");
}

TEST(LongSeries, ColumnsThatAreNotThere) {
  EXPECT_PRED2(
      contains, error_of([] { read("id,label,x\na,w,1\n", {.id = "ids"}); }),
      "a.csv: no column \"ids\" (data.id_column) among \"id\", \"label\", \"x\"; did you mean \"id\"?");
  EXPECT_PRED2(contains, error_of([] { read("id,x\na,1\n"); }),
               "which column is the label? Set data.label_column");
  EXPECT_PRED2(contains, error_of([] { read("id,label,x,y\na,w,1,2\n"); }),
               "2 channels where input.channels is 1 (\"x\", \"y\")");
  EXPECT_PRED2(contains, error_of([] { read("id,label,x\na,w,1\n", {.label = "id"}); }), "different columns");
  EXPECT_PRED2(contains, error_of([] { read("1,2,3\n"); }),
               "there is no header, so give its number, from 1 to 3");
}

}  // namespace
}  // namespace mega::data
