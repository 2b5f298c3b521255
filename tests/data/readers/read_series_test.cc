#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "mega/base/files/file.h"
#include "mega/data/readers/readers.h"
#include "tests/base/helpers.h"
#include "tests/data/npy_bytes.h"
#include "tests/data/records.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;
using testing::npy_bytes;
using testing::npy_file;
using testing::ScratchFolder;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void put(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  write_file(path, text);
}

std::string shown(const Record& record) {
  std::ostringstream text;
  text << record.where << " ";
  for (const float value : record.values) text << value << ",";
  text << "=" << record.label << "/" << static_cast<int>(record.split) << "; ";
  return text.str();
}

// Records as "where value,value,=label/split", problems as "!where what".
std::string summary(const fs::path& path, int64_t channels = 1, const DataOptions& options = {}) {
  Problems problems(true);
  std::string text;
  const SeriesInput input{.channels = channels};
  for (const Record& record : testing::collect(read_series, path, options, input, problems))
    text += shown(record);
  for (const Problem& problem : problems.first()) text += "!" + problem.where + " " + problem.what;
  return text;
}

TEST(SeriesTable, CommasTabsOrSpaces) {
  const ScratchFolder folder;
  put(folder / "a.csv",
      "\xEF\xBB\xBF"
      "cat, 1, -2.5,+3e1\r\n\r\n\"big dog\",4\r\n");
  EXPECT_EQ(summary(folder / "a.csv"), "a.csv:1 1,-2.5,30,=cat/0; a.csv:3 4,=big dog/0; ");
  put(folder / "a.tsv", "1.0\t5\t6\n0.25 1.5\t7\t8\n");
  EXPECT_EQ(summary(folder / "a.tsv"), "a.tsv:1 5,6,=1/0; a.tsv:2 7,8,=0.25 1.5/0; ");
  put(folder / "a.txt", "  1.0000000e+00   9  10\n");
  EXPECT_EQ(summary(folder / "a.txt"), "a.txt:1 9,10,=1/0; ");
}

TEST(SeriesTable, AHeaderIsALineWithoutNumbers) {
  const ScratchFolder folder;
  put(folder / "a.csv", "label,t0,t1\nx,1,2\n");
  EXPECT_EQ(summary(folder / "a.csv"), "a.csv:2 1,2,=x/0; ");
  DataOptions options;
  options.header = Header::no;
  EXPECT_PRED2(contains, summary(folder / "a.csv", 1, options), "!a.csv:1 \"t0\" is not a number");
  put(folder / "b.csv", "label,0,1\nx,1,2\n");
  options.header = Header::yes;
  EXPECT_EQ(summary(folder / "b.csv", 1, options), "b.csv:2 1,2,=x/0; ");
}

TEST(SeriesTable, SemicolonsAndDecimalCommas) {
  const ScratchFolder folder;
  put(folder / "a.csv", "label;t0;t1\nwalk;0,5;-1,25\nrun;2;3\n");
  EXPECT_EQ(summary(folder / "a.csv"), "a.csv:2 0.5,-1.25,=walk/0; a.csv:3 2,3,=run/0; ");
  DataOptions options;
  options.delimiter = "bar";
  put(folder / "b.csv", "walk|1|2\n");
  EXPECT_EQ(summary(folder / "b.csv", 1, options), "b.csv:1 1,2,=walk/0; ");
}

TEST(SeriesTable, LabelAndTimeAnywhere) {
  const ScratchFolder folder;
  put(folder / "a.csv", "start,v0,v1,kind\n2020-01-01,1,2,walk\n2020-01-02,3,4,run\n");
  DataOptions options;
  options.time_column = "start";
  options.label_column = "kind";
  EXPECT_EQ(summary(folder / "a.csv", 1, options), "a.csv:2 1,2,=walk/0; a.csv:3 3,4,=run/0; ");
  options.label_column = "4";
  options.time_column = "1";
  EXPECT_EQ(summary(folder / "a.csv", 1, options), "a.csv:2 1,2,=walk/0; a.csv:3 3,4,=run/0; ");
  options.time_column = "when";
  EXPECT_PRED2(contains, error_of([&] { summary(folder / "a.csv", 1, options); }),
               "a.csv: no column \"when\" (data.time_column) among \"start\", \"v0\"");
}

TEST(SeriesTable, ChannelsOfAPositionStandTogether) {
  const ScratchFolder folder;
  put(folder / "a.csv", "x,1,10,2,20\ny,3,30\nz,4\nw,5,50,6,inf\n");
  EXPECT_EQ(summary(folder / "a.csv", 2),
            "a.csv:1 1,10,2,20,=x/0; a.csv:2 3,30,=y/0; "
            "!a.csv:3 1 values cannot be divided into positions of 2 channels"
            "!a.csv:4 the value at position 2, channel 2 is infinite; fill in gaps before training");
}

TEST(SeriesTable, BrokenLines) {
  const ScratchFolder folder;
  put(folder / "a.csv", "x,1\n,2\nx\nx,1,,2\nx,1e999\nx,nan\nx,1e39\nx,\xFF\nx,0x10\n");
  const std::string text = summary(folder / "a.csv");
  EXPECT_PRED2(contains, text, "a.csv:1 1,=x/0; !a.csv:2 the label is empty!a.csv:3 no values");
  EXPECT_PRED2(contains, text, "!a.csv:4 \"\" is not a number!a.csv:5 \"1e999\" is not a number");
  EXPECT_PRED2(contains, text, "!a.csv:6 the value at position 1, channel 1 is not a number");
  EXPECT_PRED2(contains, text, "!a.csv:7 the value at position 1, channel 1 is infinite");
  EXPECT_PRED2(contains, text, "!a.csv:8 ");
  EXPECT_PRED2(contains, text, "!a.csv:9 \"0x10\" is not a number");
  put(folder / "b.csv", "");
  EXPECT_EQ(summary(folder / "b.csv"), "!b.csv no series in this table");
}

TEST(SeriesTable, ALongLine) {
  const ScratchFolder folder;
  std::string line = "x";
  for (int i = 0; i < 5'000'000; ++i) line += ",1";
  put(folder / "a.csv", line + "\n");
  Problems problems(false);
  const testing::Records records =
      testing::collect(read_series, folder / "a.csv", {}, SeriesInput{}, problems);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].values.size(), 5'000'000u);
}

TEST(SeriesTable, FolderWithTrainAndTest) {
  const ScratchFolder folder;
  put(folder / "GunPoint_TEST.tsv", "2\t1\t2\n");
  put(folder / "GunPoint_TRAIN.tsv", "1\t3\t4\n");
  EXPECT_EQ(summary(folder.path()), "GunPoint_TEST.tsv:1 1,2,=2/3; GunPoint_TRAIN.tsv:1 3,4,=1/1; ");
  DataOptions options;
  options.classes = {"1"};
  EXPECT_EQ(summary(folder.path(), 1, options), "GunPoint_TRAIN.tsv:1 3,4,=1/1; ");
}

TEST(SeriesJson, ValuesAndLabels) {
  const ScratchFolder folder;
  put(folder / "a.jsonl",
      "{\"values\": [1, 2.5], \"label\": \"x\"}\n{\"values\": [3], \"label\": 1.0}\n{\"values\": [4], "
      "\"label\": [0.25, 1.5]}\n");
  EXPECT_EQ(summary(folder / "a.jsonl"), "a.jsonl:1 1,2.5,=x/0; a.jsonl:2 3,=1/0; a.jsonl:3 4,=0.25 1.5/0; ");
  put(folder / "b.jsonl", "{\"values\": [[1, 10], [2, 20]], \"label\": 0}\n");
  EXPECT_EQ(summary(folder / "b.jsonl", 2), "b.jsonl:1 1,10,2,20,=0/0; ");
  EXPECT_PRED2(contains, summary(folder / "b.jsonl"),
               "!b.jsonl:1 \"values\" is neither a list of numbers nor");
  put(folder / "c.jsonl",
      "{\"values\": [1]}\n{\"values\": [null], \"label\": 1}\n{\"values\": 1, \"label\": 1}\n{\n"
      "{\"values\": [], \"label\": 1}\n{\"values\": [1], \"label\": null}\n");
  const std::string text = summary(folder / "c.jsonl");
  EXPECT_PRED2(contains, text, "!c.jsonl:1 expected an object with \"values\" and \"label\"!c.jsonl:2 ");
  EXPECT_PRED2(contains, text, "!c.jsonl:3 \"values\" is not a list!c.jsonl:4 not valid JSON");
  EXPECT_PRED2(contains, text, "!c.jsonl:5 no values!c.jsonl:6 the label is empty");
}

TEST(SeriesFolders, AFilePerSeries) {
  const ScratchFolder folder;
  put(folder / "train/walk/1.csv", "x,y\n1,10\n2,20\n");
  put(folder / "train/walk/2.csv", "3 30\n4 40\n5 50\n");
  put(folder / "test/run/1.npy", npy_file("<f4", "(2, 2)", npy_bytes<float>({6, 60, 7, 70})));
  EXPECT_EQ(summary(folder.path(), 2),
            "test/run/1.npy 6,60,7,70,=run/3; train/walk/1.csv 1,10,2,20,=walk/1; "
            "train/walk/2.csv 3,30,4,40,5,50,=walk/1; ");
  EXPECT_PRED2(contains, error_of([&] { summary(folder.path()); }),
               "test/run/1.npy: 2 channels where input.channels is 1; set input.channels");
}

TEST(SeriesFolders, ATimeColumnIsLeftOut) {
  const ScratchFolder folder;
  put(folder / "walk/1.csv", "time,x\n0.1,1\n0.2,2\n");
  put(folder / "run/1.csv", "time,x\n0.1,3\n0.2,4\n");
  EXPECT_PRED2(contains, error_of([&] { summary(folder.path()); }),
               "if \"time\" is a time and no value, set data.time_column to it");
  DataOptions options;
  options.time_column = "time";
  EXPECT_EQ(summary(folder.path(), 1, options), "run/1.csv 3,4,=run/0; walk/1.csv 1,2,=walk/0; ");
  options.time_column = "hour";
  EXPECT_PRED2(contains, summary(folder.path(), 1, options), "no column \"hour\" (data.time_column)");
}

TEST(SeriesFolders, BrokenFilesAreProblems) {
  const ScratchFolder folder;
  put(folder / "a/0.csv", "1\n2\n");
  put(folder / "a/1.csv", "1,2\n3,4\n");
  put(folder / "a/2.csv", "1\n2,3\n");
  put(folder / "a/3.csv", "1\nx\n");
  put(folder / "a/4.csv", "");
  put(folder / "a/5.npy", npy_file("<f4", "(2,)", npy_bytes<float>({1, kNaN})));
  put(folder / "a/6.npy", "nothing");
  put(folder / "a/7.npy", npy_file("<f4", "(1, 1, 1)", npy_bytes<float>({1})));
  const std::string text = summary(folder.path());
  EXPECT_PRED2(contains, text,
               "a/0.csv 1,2,=a/0; !a/1.csv 2 channels where input.channels is 1!a/2.csv line 2: ");
  EXPECT_PRED2(contains, text, "!a/3.csv line 2: \"x\" is not a number!a/4.csv no values");
  EXPECT_PRED2(contains, text, "!a/5.npy the value at position 2, channel 1 is not a number");
  EXPECT_PRED2(contains, text, "6.npy: not a NumPy .npy file!a/7.npy an array of 3 dimensions");
}

TEST(SeriesFolders, LabelsByPattern) {
  const ScratchFolder folder;
  put(folder / "walk-1.csv", "1\n2\n");
  DataOptions options;
  options.label_pattern = "([a-z]+)-\\d";
  EXPECT_EQ(summary(folder.path(), 1, options), "walk-1.csv 1,2,=walk/0; ");
}

TEST(SeriesArrays, SeriesAndLabelsSideBySide) {
  const ScratchFolder folder;
  put(folder / "X_train.npy", npy_file("<f8", "(2, 2)", npy_bytes<double>({1, 2, 3, 4})));
  put(folder / "y_train.npy", npy_file("<i8", "(2,)", npy_bytes<int64_t>({0, 12345678901})));
  put(folder / "X_test.npy", npy_file("<f4", "(2, 2, 1)", npy_bytes<float>({5, kNaN, 7, 8})));
  put(folder / "y_test.npy", npy_file("<f4", "(2, 2)", npy_bytes<float>({0, 0, 0.1f, -2})));
  EXPECT_EQ(summary(folder.path()),
            "X_test.npy:2 7,8,=0.100000001 -2/3; X_train.npy:1 1,2,=0/1; X_train.npy:2 3,4,=12345678901/1; "
            "!X_test.npy:1 the value at position 2, channel 1 is not a number; fill in gaps before training");
  EXPECT_EQ(summary(folder / "X_train.npy"), "X_train.npy:1 1,2,=0/0; X_train.npy:2 3,4,=12345678901/0; ");
  EXPECT_PRED2(contains, error_of([&] { summary(folder.path(), 3); }), "1 channel where input.channels is 3");
}

TEST(SeriesArrays, ArraysThatDoNotFit) {
  const ScratchFolder folder;
  put(folder / "X.npy", npy_file("|u1", "(2, 1)", "ab"));
  EXPECT_PRED2(contains, error_of([&] { summary(folder.path()); }), "the labels, y.npy, are not beside it");
  put(folder / "y.npy", npy_file("|u1", "(3,)", "abc"));
  EXPECT_PRED2(contains, error_of([&] { summary(folder.path()); }), "y.npy: expected (2) or (2, outputs)");
  put(folder / "y.npy", npy_file("|u1", "(2, 0)", ""));
  EXPECT_PRED2(contains, summary(folder.path()), "!X.npy:1 the label is empty");
  put(folder / "y.npy", npy_file("<f4", "(2,)", npy_bytes<float>({1, kNaN})));
  EXPECT_EQ(summary(folder.path()), "X.npy:1 97,=1/0; !X.npy:2 the label is not a finite number");
  put(folder / "X.npy", npy_file("|u1", "(2,)", "ab"));
  EXPECT_PRED2(contains, error_of([&] { summary(folder.path()); }), "X.npy: an array of 1 dimensions where");
  put(folder / "X.npy", npy_file("|u1", "(2, 0)", ""));
  EXPECT_EQ(summary(folder.path()), "!X.npy no series in this array");
}

TEST(Series, NothingToRead) {
  const ScratchFolder folder;
  EXPECT_PRED2(contains, error_of([&] { summary(folder.path()); }), "no series here");
  EXPECT_PRED2(contains, error_of([&] { summary(folder / "none.csv"); }), "none.csv");
  EXPECT_PRED2(contains, error_of([&] { summary(folder / "none.npy"); }), "none.npy");
}

TEST(OneSeries, TextOrArray) {
  const ScratchFolder folder;
  put(folder / "a.csv", "x,y\n1,2\n3,4\n");
  EXPECT_EQ(read_one_series(folder / "a.csv", {.channels = 2}).values, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_PRED2(contains, error_of([&] { read_one_series(folder / "a.csv", {}); }), "a.csv: 2 channels where");
  put(folder / "b.txt", "1 2 3 4\n");
  EXPECT_EQ(read_one_series(folder / "b.txt", {}).values, (std::vector<float>{1, 2, 3, 4}))
      << "a line by itself";
  put(folder / "c.npy", npy_file("|u1", "(2,)", "\x01\x02"));
  EXPECT_EQ(read_one_series(folder / "c.npy", {}).values, (std::vector<float>{1, 2}));
  put(folder / "d.csv", "1\nnan\n");
  EXPECT_PRED2(contains, error_of([&] { read_one_series(folder / "d.csv", {}); }),
               "d.csv: the value at position 2");
  EXPECT_PRED2(contains, error_of([&] { read_one_series(folder / "none", {}); }), "none");
}

}  // namespace
}  // namespace mega::data
