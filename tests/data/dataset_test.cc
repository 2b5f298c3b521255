#include "mega/data/dataset.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "mega/base/files/file.h"
#include "mega/base/files/stream.h"
#include "mega/data/formats/image_file.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;
using testing::ScratchFolder;
using Strings = std::vector<std::string>;

void put(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  write_file(path, text);
}

DatasetRequest request_for(const fs::path& path) {
  DatasetRequest request;
  request.data.path = path.string();
  return request;
}

DatasetRequest regression_of(const fs::path& path) {
  DatasetRequest request = request_for(path);
  request.input.input = SeriesInput{};
  request.objective = Objective::regression;
  return request;
}

// "text<TAB>label" lines: `count` of each label, all different.
std::string table(const Strings& labels, int count) {
  std::string text = "text\tlabel\n";
  for (int i = 0; i < count; ++i)
    for (const std::string& label : labels) text += "t" + std::to_string(i) + label + "\t" + label + "\n";
  return text;
}

std::set<std::string> texts(const Part& part) {
  std::set<std::string> all;
  for (int64_t i = 0; i < part.size(); ++i) all.insert(part.get(i).bytes);
  return all;
}

// The texts of all splits, to compare two ways of dividing the same examples.
std::vector<std::set<std::string>> division(const Dataset& dataset) {
  return {texts(dataset.train), texts(dataset.valid), texts(dataset.test)};
}

std::map<int64_t, int64_t> label_counts(const Part& part) {
  std::map<int64_t, int64_t> counts;
  for (const int64_t label : part.labels) ++counts[label];
  return counts;
}

class DatasetTest : public ::testing::Test {
 protected:
  DatasetRequest table_request(std::string_view text) const {
    put(folder_ / "table.tsv", text);
    return request_for(folder_ / "table.tsv");
  }

  const ScratchFolder folder_;
};

using Counts = std::map<int64_t, int64_t>;

TEST_F(DatasetTest, DividesEachClassByTheShares) {
  const Dataset dataset = load_dataset(table_request(table({"a", "b"}, 100)));
  EXPECT_EQ(dataset.classes, (Strings{"a", "b"}));
  EXPECT_EQ(dataset.outputs, 2);
  EXPECT_EQ(label_counts(dataset.test), (Counts{{0, 10}, {1, 10}}));
  EXPECT_EQ(label_counts(dataset.valid), (Counts{{0, 9}, {1, 9}}));  // of what is left
  EXPECT_EQ(label_counts(dataset.train), (Counts{{0, 81}, {1, 81}}));
  std::set<std::string> all;
  for (const auto& part : division(dataset)) all.insert(part.begin(), part.end());
  EXPECT_EQ(all.size(), 200U);
  EXPECT_EQ(&dataset.part(Split::test), &dataset.test);
  EXPECT_EQ(&dataset.part(Split::valid), &dataset.valid);
  EXPECT_EQ(&dataset.part(Split::train), &dataset.train);
}

TEST_F(DatasetTest, SmallClassesGiveTheirShareTogether) {
  Strings labels;
  for (char label = 'a'; label < 'k'; ++label) labels.emplace_back(1, label);
  const Dataset dataset = load_dataset(table_request(table(labels, 4)));
  EXPECT_EQ(dataset.test.size(), 4);  // a tenth of each class is less than a half
  EXPECT_EQ(dataset.valid.size(), 4);
  for (const auto& [label, count] : label_counts(dataset.test)) EXPECT_EQ(count, 1) << label;
}

TEST_F(DatasetTest, AClassIsNeverTakenWhole) {
  DatasetRequest request = table_request(table({"a", "b"}, 1));
  request.data.test_share = 0.9;
  EXPECT_EQ(load_dataset(request).train.size(), 2);
  request.data.test_share = 1;
  EXPECT_EQ(load_dataset(request).test.size(), 2);
}

TEST_F(DatasetTest, SharesOfZeroTakeNothing) {
  DatasetRequest request = table_request(table({"a", "b"}, 20));
  request.data.test_share = request.data.valid_share = 0;
  EXPECT_EQ(load_dataset(request).train.size(), 40);
}

TEST_F(DatasetTest, TheSeedChoosesTheDivision) {
  DatasetRequest request = table_request(table({"a", "b"}, 50));
  const auto first = division(load_dataset(request));
  EXPECT_EQ(division(load_dataset(request)), first);
  request.data.split_seed = 1;
  EXPECT_NE(division(load_dataset(request)), first);
}

TEST_F(DatasetTest, TheDivisionDependsNeitherOnThePlaceNorOnTheOrderOfFiles) {
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i), back = std::to_string(39 - i);
    put(folder_ / "one" / (i % 2 ? "a" : "b") / (number + ".txt"), "text " + number);
    put(folder_ / "far/away/two" / ((39 - i) % 2 ? "a" : "b") / (back + ".txt"), "text " + back);
  }
  const Dataset one = load_dataset(request_for(folder_ / "one"));
  ASSERT_EQ(one.test.size(), 4);
  for (const fs::path& path : {folder_ / "far/away/two", folder_ / "one/", folder_ / "far/../one/./"}) {
    const Dataset other = load_dataset(request_for(path));
    EXPECT_EQ(division(other), division(one)) << path;
    EXPECT_EQ(other.checksum, one.checksum) << path;
  }

  const std::string rows = table({"a", "b"}, 30);
  put(folder_ / "here/table.tsv", rows);
  put(folder_ / "there/table.tsv", rows);
  EXPECT_EQ(division(load_dataset(request_for(folder_ / "here/table.tsv"))),
            division(load_dataset(request_for(folder_ / "there/table.tsv"))));
  EXPECT_EQ(division(load_dataset(request_for(folder_ / "here"))),
            division(load_dataset(request_for(folder_ / "there"))));
}

TEST_F(DatasetTest, ValidationIsTakenFromTraining) {
  put(folder_ / "train.tsv", table({"a", "b"}, 20));
  put(folder_ / "test.tsv", "text\tlabel\nx\ta\ny\tb\n");
  const Dataset dataset = load_dataset(request_for(folder_.path()));
  EXPECT_EQ(dataset.train.size(), 36);
  EXPECT_EQ(dataset.valid.size(), 4);
  EXPECT_EQ(texts(dataset.test), (std::set<std::string>{"x", "y"}));
}

TEST_F(DatasetTest, AFolderForTestingAloneStaysWhole) {
  put(folder_ / "test/a/1.txt", "x");
  put(folder_ / "test/b/2.txt", "y");
  const Dataset dataset = load_dataset(request_for(folder_.path()));
  EXPECT_EQ(dataset.test.size(), 2);
  EXPECT_EQ(dataset.train.size() + dataset.valid.size(), 0);
}

TEST_F(DatasetTest, OtherFilesGiveTheirSplit) {
  put(folder_ / "here.tsv", table({"a", "b"}, 20));
  put(folder_ / "choose.tsv", "text\tlabel\nx\ta\n");
  put(folder_ / "final.tsv", "text\tlabel\ny\tb\n");
  DatasetRequest request = request_for(folder_ / "here.tsv");
  request.data.test = (folder_ / "final.tsv").string();
  const Dataset tested = load_dataset(request);
  EXPECT_EQ(tested.train.size(), 36);
  EXPECT_EQ(tested.valid.size(), 4);
  EXPECT_EQ(texts(tested.test), std::set<std::string>{"y"});

  request.data.valid = (folder_ / "choose.tsv").string();
  const Dataset both = load_dataset(request);
  EXPECT_EQ(both.train.size(), 40);
  EXPECT_EQ(texts(both.valid), std::set<std::string>{"x"});

  request.data.valid = (folder_ / "nowhere.tsv").string();
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request); }), "nowhere.tsv: no such file or folder");
}

TEST_F(DatasetTest, APatternNamesTheFilesToTestOn) {
  for (int i = 0; i < 10; ++i) {
    put(folder_ / "a" / (std::to_string(i) + ".txt"), "a" + std::to_string(i));
    put(folder_ / "b" / (std::to_string(i) + ".txt"), "b" + std::to_string(i));
  }
  DatasetRequest request = request_for(folder_.path());
  request.data.test_pattern = "/[01]\\.txt$";
  const Dataset dataset = load_dataset(request);
  EXPECT_EQ(texts(dataset.test), (std::set<std::string>{"a0", "a1", "b0", "b1"}));
  EXPECT_EQ(dataset.valid.size(), 2);
  EXPECT_EQ(dataset.train.size(), 14);
}

TEST_F(DatasetTest, APatternIsNotPassedOver) {
  put(folder_ / "basic_train.tsv", "[MAX 1 2 ]\t2\n");
  DatasetRequest request = request_for(folder_.path());
  request.input.input = TextInput{TextUnits::listops, 0};
  EXPECT_EQ(load_dataset(request).train.size(), 1);
  request.data.test_pattern = "train";
  EXPECT_PRED2(
      contains, error_of([&] { load_dataset(request); }),
      "data.test_pattern: not for data of format listops; name the examples to test on with data.test");
}

TEST_F(DatasetTest, ALimitKeepsSomeOfEachSplitAndAllClasses) {
  DatasetRequest request = table_request(table({"a", "b", "c", "d"}, 50));
  const Dataset whole = load_dataset(request);
  request.data.limit = 3;
  const Dataset some = load_dataset(request);
  EXPECT_EQ(some.train.size(), 3);
  EXPECT_EQ(some.valid.size(), 3);
  EXPECT_EQ(some.test.size(), 3);
  const auto all = texts(whole.test), few = texts(some.test);
  EXPECT_TRUE(std::includes(all.begin(), all.end(), few.begin(), few.end()));
  EXPECT_NE(some.checksum, whole.checksum);

  request.data.limit = 1;  // fewer examples than classes
  EXPECT_EQ(load_dataset(request).classes, whole.classes);
}

TEST_F(DatasetTest, ChosenClassesAreTheOnlyOnesInTheirOrder) {
  DatasetRequest request = table_request(table({"a", "b", "c"}, 10));
  request.data.classes = {"c", "a"};
  const Dataset dataset = load_dataset(request);
  EXPECT_EQ(dataset.classes, (Strings{"c", "a"}));
  EXPECT_EQ(dataset.train.size() + dataset.valid.size() + dataset.test.size(), 20);
  for (const Part* part : {&dataset.train, &dataset.valid, &dataset.test})
    for (int64_t i = 0; i < part->size(); ++i)
      EXPECT_EQ(part->label(i), part->labels[static_cast<size_t>(i)] == 0 ? "c" : "a");

  request.data.classes = {"a", "c", "a"};
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request); }), "class \"a\" is named twice");
  request.data.classes = {"z"};
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request); }), "no examples");
}

TEST_F(DatasetTest, NumbersAreOrderedByValueAndNamesByBytes) {
  EXPECT_EQ(load_dataset(table_request(table({"10", "9", "-1"}, 3))).classes, (Strings{"-1", "9", "10"}));
  EXPECT_EQ(load_dataset(table_request(table({"10", "9", "x"}, 3))).classes, (Strings{"10", "9", "x"}));
  EXPECT_EQ(load_dataset(table_request(table({"007", "7", "1"}, 3))).classes, (Strings{"1", "007", "7"}));
  // Too large for a number: a name.
  EXPECT_EQ(load_dataset(table_request(table({"99999999999999999999", "9"}, 3))).classes,
            (Strings{"9", "99999999999999999999"}));
}

TEST_F(DatasetTest, AModelKnowsItsClasses) {
  DatasetRequest request = table_request("text\tlabel\nx\tb\ny\ta\nz\tnew\n");
  request.data.test_share = request.data.valid_share = 0;
  request.classes = {"b", "never", "a"};
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request); }),
               "table.tsv:4: label \"new\" is none of the 3 known classes");
  request.data.skip_broken = true;
  const Dataset dataset = load_dataset(request);
  EXPECT_EQ(dataset.train.labels, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(dataset.outputs, 3);
  EXPECT_EQ(dataset.problems, 1);
  EXPECT_EQ(dataset.first_problems.at(0).where, "table.tsv:4");
}

TEST_F(DatasetTest, LabelsThatAModelFileCannotKeepAreProblems) {
  DatasetRequest request = table_request("text\tlabel\nx\tb\xE9\ny\ta\nz\tb\n");
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request); }), "table.tsv:2: the label");
  request.data.skip_broken = true;
  const Dataset dataset = load_dataset(request);
  EXPECT_EQ(dataset.classes, (Strings{"a", "b"}));
  EXPECT_EQ(dataset.problems, 1);
}

TEST_F(DatasetTest, BrokenLinesStopOrAreLeftOut) {
  DatasetRequest request = table_request(table({"a", "b"}, 5) + "no label\n");
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request); }), "table.tsv:12");
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request); }), "data.skip_broken=true");
  request.data.skip_broken = true;
  const Dataset dataset = load_dataset(request);
  EXPECT_EQ(dataset.problems, 1);
  EXPECT_EQ(dataset.first_problems.size(), 1U);
  EXPECT_EQ(dataset.train.size() + dataset.valid.size() + dataset.test.size(), 10);
}

TEST_F(DatasetTest, TheChecksumIsOfTheExamplesNotOfTheirOrder) {
  const auto checksum = [&](std::string_view text) { return load_dataset(table_request(text)).checksum; };
  const std::string sum = checksum("text\tlabel\nx\t1\ny\t0\nz\t1\n");
  EXPECT_EQ(sum.size(), 19U);
  EXPECT_TRUE(sum.starts_with("h1-"));
  EXPECT_EQ(checksum("text\tlabel\nz\t1\nx\t1\ny\t0\n"), sum);
  EXPECT_EQ(checksum("label\ttext\n1\tx\n0\ty\n1\tz\n"), sum);
  EXPECT_NE(checksum("text\tlabel\nx\t1\ny\t1\nz\t0\n"), sum);              // other labels
  EXPECT_NE(checksum("text\tlabel\nx\t1\ny\t0\nz\t1\nz\t1\n"), sum);        // one twice
  EXPECT_NE(checksum("text\tlabel\nx\t1\ny\t0\nz\t1\nw\t1\nw\t1\n"), sum);  // two that do not cancel out
}

TEST_F(DatasetTest, PairsKeepBothTexts) {
  put(folder_ / "table.tsv", "1\tone\tother\n0\ttwo\tanother\n");
  DatasetRequest request = request_for(folder_ / "table.tsv");
  request.pairs = true;
  request.data.test_share = request.data.valid_share = 0;
  const Dataset dataset = load_dataset(request);
  ASSERT_EQ(dataset.train.size(), 2);
  EXPECT_EQ(dataset.train.get(1).second, "another");
  EXPECT_EQ(dataset.train.labels, (std::vector<int64_t>{1, 0}));
}

TEST_F(DatasetTest, RegressionHasTargets) {
  put(folder_ / "table.jsonl",
      "{\"values\": [1, 2], \"label\": [0.25, -1e-3]}\n{\"values\": [3], \"label\": \"7;1e-60\"}\n");
  DatasetRequest request = regression_of(folder_ / "table.jsonl");
  request.data.test_share = request.data.valid_share = 0;
  const Dataset dataset = load_dataset(request);
  EXPECT_EQ(dataset.outputs, 2);
  EXPECT_TRUE(dataset.classes.empty());
  EXPECT_TRUE(dataset.train.labels.empty());
  EXPECT_EQ(dataset.train.targets, (std::vector<float>{0.25F, -1e-3F, 7, 0}));
}

TEST_F(DatasetTest, WhatIsNoNumberIsNoTarget) {
  for (const char* label : {"high", "2020-01-02", "1.5.5", "1e400", "nan", "inf", ";", "1x"}) {
    put(folder_ / "table.jsonl",
        "{\"values\": [1], \"label\": \"" + std::string(label) + "\"}\n{\"values\": [2], \"label\": 1}\n");
    DatasetRequest request = regression_of(folder_ / "table.jsonl");
    EXPECT_PRED2(contains, error_of([&] { load_dataset(request); }),
                 "table.jsonl:1: expected 1 number(s) to predict, got " + in_quotes(label));
    request.data.skip_broken = true;
    EXPECT_EQ(load_dataset(request).problems, 1) << label;
  }
}

TEST_F(DatasetTest, EveryExampleHasAsManyTargets) {
  put(folder_ / "table.jsonl", "{\"values\": [1], \"label\": [1, 2]}\n{\"values\": [2], \"label\": 1}\n");
  EXPECT_PRED2(contains, error_of([&] { load_dataset(regression_of(folder_ / "table.jsonl")); }),
               "table.jsonl:2: expected 2 number(s) to predict, got \"1\"");
}

TEST_F(DatasetTest, RegressionIsDividedAsAWhole) {
  std::string text;
  for (int i = 0; i < 100; ++i)  // few different targets, as ratings have
    text += "{\"values\": [" + std::to_string(i) + "], \"label\": " + std::to_string(i % 5) + "}\n";
  put(folder_ / "rest/train.jsonl", text);
  std::string few;
  for (int i = 0; i < 20; ++i)
    few += "{\"values\": [" + std::to_string(i) + "], \"label\": 0." + std::to_string(i) + "}\n";
  put(folder_ / "few/train.jsonl", few);
  put(folder_ / "few/test.jsonl", text);
  const Dataset divided = load_dataset(regression_of(folder_ / "rest/train.jsonl"));
  EXPECT_EQ(divided.test.size(), 10);
  EXPECT_EQ(divided.valid.size(), 9);
  // Targets that are all different, beside many others to test on.
  const Dataset tested = load_dataset(regression_of(folder_ / "few"));
  EXPECT_EQ(tested.valid.size(), 2);
  EXPECT_EQ(tested.test.size(), 100);
}

TEST_F(DatasetTest, FindsTheFormat) {
  const auto format = [&](const fs::path& path, const InputOptions& input, bool pairs = false) {
    DatasetRequest request = request_for(path);
    request.input = input;
    request.pairs = pairs;
    return find_format(request);
  };
  EXPECT_EQ(format("-", {TextInput{}}), DataFormat::text);
  EXPECT_EQ(format("-", {TextInput{}}, true), DataFormat::pairs);
  EXPECT_EQ(format("-", {TextInput{TextUnits::listops, 0}}), DataFormat::listops);
  EXPECT_EQ(format("-", {AudioInput{}}), DataFormat::audio);
  EXPECT_EQ(format("-", {SeriesInput{}}), DataFormat::series);

  put(folder_ / "cifar/data_batch_1.bin", "");
  put(folder_ / "mnist/train-images-idx3-ubyte.gz", "");
  put(folder_ / "snakes/metadata/1.npy", "");
  put(folder_ / "lra/curv_contour_length_14/metadata/1.npy", "");
  put(folder_ / "cats/cat/1.png", "");
  EXPECT_EQ(format(folder_ / "cifar", {ImageInput{}}), DataFormat::cifar);
  EXPECT_EQ(format(folder_ / "cifar/data_batch_1.bin", {ImageInput{}}), DataFormat::cifar);
  EXPECT_EQ(format(folder_ / "mnist", {ImageInput{}}), DataFormat::idx);
  EXPECT_EQ(format(folder_ / "snakes", {ImageInput{}}), DataFormat::pathfinder);
  EXPECT_EQ(format(folder_ / "lra", {ImageInput{}}), DataFormat::pathfinder);
  EXPECT_EQ(format(folder_ / "cats", {ImageInput{}}), DataFormat::images);

  DatasetRequest request = request_for(folder_ / "cats");
  request.data.format = DataFormat::audio;
  EXPECT_EQ(find_format(request), DataFormat::audio);
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request); }),
               "data of format audio needs input.kind = audio");
}

TEST_F(DatasetTest, SaysWhatIsMissing) {
  EXPECT_PRED2(contains, error_of([] { load_dataset({}); }), "--data PATH");
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request_for(folder_ / "none")); }),
               "none: no such file or folder");
  // A name that the file system itself refuses.
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request_for(std::string(5000, 'x'))); }),
               "no such file or folder");
}

// Everything that can be seen of a data set.
std::string everything(const Dataset& dataset) {
  std::string all = dataset.checksum + "\n";
  for (const Part* part : {&dataset.train, &dataset.valid, &dataset.test}) {
    for (int64_t i = 0; i < part->size(); ++i) {
      const Record record = part->get(i);
      all += record.where + " " + record.label + " " + record.bytes + "+" + record.second + " ";
      all.append(record.picture.samples.begin(), record.picture.samples.end());
      for (const float value : record.values) all += std::to_string(value) + ",";
      all += part->labels.empty() ? "\n" : std::to_string(part->labels[static_cast<size_t>(i)]) + "\n";
    }
    all += "--\n";
  }
  return all;
}

class MemoryTest : public DatasetTest {
 protected:
  void SetUp() override { ::setenv("MEGA_CACHE", (folder_ / "cache").c_str(), 1); }
  void TearDown() override { ::unsetenv("MEGA_CACHE"); }

  // Loads with all, some and no contents in memory, and expects no difference.
  static void expect_same_at_any_memory(DatasetRequest request) {
    const std::string all = everything(load_dataset(request));
    for (const int64_t memory : {0, 1000}) {
      request.data.memory = memory;
      const Dataset dataset = load_dataset(request);
      EXPECT_LE(dataset.train.examples->bytes_in_memory(), memory);
      EXPECT_FALSE(dataset.train.examples->in_memory());
      EXPECT_EQ(everything(dataset), all) << memory;
    }
  }
};

TEST_F(MemoryTest, TablesOnDisk) {
  expect_same_at_any_memory(table_request(table({"a", "b"}, 200)));
  OutputStream compressed(folder_ / "pairs.tsv.gz");
  for (int i = 0; i < 300; ++i)
    compressed.write(std::to_string(i % 2) + "\tfirst " + std::to_string(i) + "\tsecond\n");
  compressed.commit();
  DatasetRequest pairs = request_for(folder_ / "pairs.tsv.gz");
  pairs.pairs = true;
  expect_same_at_any_memory(pairs);

  std::string series;
  for (int i = 0; i < 300; ++i) series += std::to_string(i % 3) + ",0.5," + std::to_string(i) + "\n";
  put(folder_ / "series.csv", series);
  DatasetRequest request = request_for(folder_ / "series.csv");
  request.input.input = SeriesInput{};
  expect_same_at_any_memory(request);
}

TEST_F(MemoryTest, FoldersOnDisk) {
  for (int i = 0; i < 60; ++i) {
    const std::string name = std::string(i % 2 ? "a" : "b") + "/" + std::to_string(i);
    put(folder_ / "texts" / (name + ".txt"), "text " + std::to_string(i));
    GreyImage image(3, 4 + i % 3);
    std::fill(image.pixels.begin(), image.pixels.end(), static_cast<uint8_t>(i));
    put(folder_ / "pictures" / (name + ".png"), encode_png(image));
    put(folder_ / "series" / (name + ".csv"), "1\n2\n" + std::to_string(i) + "\n");
  }
  expect_same_at_any_memory(request_for(folder_ / "texts"));
  DatasetRequest request = request_for(folder_ / "pictures");
  request.input.input = ImageInput{};
  expect_same_at_any_memory(request);
  request = request_for(folder_ / "series");
  request.input.input = SeriesInput{};
  expect_same_at_any_memory(request);
  EXPECT_FALSE(fs::exists(folder_ / "cache")) << "files are read again, not copied";
}

TEST_F(MemoryTest, TextsOfFilesCostWhatTheyHold) {
  for (int i = 0; i < 100; ++i)
    put(folder_ / "texts" / (i % 2 ? "a" : "b") / (std::to_string(i) + ".txt"), "short");
  EXPECT_LT(load_dataset(request_for(folder_ / "texts")).train.examples->bytes_in_memory(), 100 * 64);
}

TEST_F(MemoryTest, WhatALimitLeavesOutIsFreed) {
  DatasetRequest request = table_request(table({"a", "b"}, 500));
  const int64_t whole = load_dataset(request).train.examples->bytes_in_memory();
  request.data.limit = 5;
  EXPECT_LT(load_dataset(request).train.examples->bytes_in_memory(), whole / 20);
}

TEST_F(MemoryTest, ProblemsAreFoundWhileLoading) {
  DatasetRequest request = table_request(table({"a", "b"}, 5) + "no label\n");
  request.data.memory = 0;
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request); }), "table.tsv:12");
  request.data.skip_broken = true;
  EXPECT_EQ(load_dataset(request).problems, 1);

  put(folder_ / "texts/a/1.txt", "x");
  put(folder_ / "texts/b/2.txt", "");
  request = request_for(folder_ / "texts");
  request.data.memory = 0;
  EXPECT_PRED2(contains, error_of([&] { load_dataset(request); }), "b/2.txt: the text is empty");
}

// As under `ulimit -v`: the process may grow by less than half of what the data set holds.
TEST_F(MemoryTest, ADataSetThatDoesNotFit) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer has addresses of its own";
#endif
  constexpr size_t kText = 64 << 10, kCount = 2000;  // 125 MiB
  {
    OutputStream compressed(folder_ / "large.tsv.gz");
    std::string text(kText, ' ');
    for (size_t i = 0; i < kCount; ++i) {
      for (size_t k = 0; k < kText; k += 64) text[k] = static_cast<char>('a' + (i + k / 64) % 26);
      compressed.write((i % 2 ? "a\t" : "b\t") + text + "\n");
    }
    compressed.commit();
  }
  const auto load_within_limit = [&](int64_t memory) {
    std::ifstream status("/proc/self/statm");
    rlim_t pages = 0;
    status >> pages;
    struct rlimit limit {};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t{60} << 20);
    ::setrlimit(RLIMIT_AS, &limit);
    DatasetRequest request = request_for(folder_ / "large.tsv.gz");
    request.data.memory = memory;
    try {
      const Dataset dataset = load_dataset(request);
      size_t bytes = 0;
      for (int64_t i = 0; i < dataset.train.size(); ++i) bytes += dataset.train.get(i).bytes.size();
      std::_Exit(bytes > kText * kCount / 2 ? 0 : 1);
    } catch (const Error& error) {
      std::_Exit(contains(error.what(), "lower data.memory") ? 2 : 3);
    } catch (const std::bad_alloc&) {  // where a line is read
      std::_Exit(2);
    }
  };
  EXPECT_EXIT(load_within_limit(1 << 20), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(load_within_limit(int64_t{1} << 40), ::testing::ExitedWithCode(2), "") << "the limit holds";
}

}  // namespace
}  // namespace mega::data
