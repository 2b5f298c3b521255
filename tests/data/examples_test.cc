#include "mega/data/examples.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <thread>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

// One of every kind, told by its number.
Record record_of(int i) {
  Record record;
  record.where = i % 2 == 0 ? "train.tsv:" + std::to_string(i + 1) : "odd/" + std::to_string(i) + ".png";
  record.label = "class " + std::to_string(i % 3);
  record.split = static_cast<Split>(i % 4);
  if (i % 5 != 0) record.bytes = std::string(static_cast<size_t>(i), 'x') + std::string(1, '\0');
  if (i % 3 == 0) record.second = "second " + std::to_string(i);
  if (i % 4 == 0) record.values.assign(static_cast<size_t>(i + 1), static_cast<float>(i) + 0.5F);
  if (i % 7 == 0) {
    set_size(record.picture, 2, i + 1, 3, "x");
    std::fill(record.picture.samples.begin(), record.picture.samples.end(), static_cast<uint8_t>(i));
  }
  return record;
}

void expect_same(const Record& got, const Record& expected) {
  EXPECT_EQ(got.where, expected.where);
  EXPECT_EQ(got.label, expected.label);
  EXPECT_EQ(got.split, expected.split);
  EXPECT_EQ(got.bytes, expected.bytes);
  EXPECT_EQ(got.second, expected.second);
  EXPECT_EQ(got.values, expected.values);
  EXPECT_EQ(got.picture.height, expected.picture.height);
  EXPECT_EQ(got.picture.width, expected.picture.width);
  EXPECT_EQ(got.picture.channels, expected.picture.channels);
  EXPECT_EQ(got.picture.samples, expected.picture.samples);
}

class ExamplesTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("MEGA_CACHE", (cache_.path() / "cache").c_str(), 1); }
  void TearDown() override { ::unsetenv("MEGA_CACHE"); }

  const ScratchFolder cache_;
};

TEST_F(ExamplesTest, GiveBackWhatWasAddedWhereverItIs) {
  constexpr int kCount = 300;
  for (const int64_t memory : {kAll, int64_t{20000}, int64_t{0}}) {
    Examples examples(memory);
    for (int i = 0; i < kCount; ++i) examples.add(record_of(i));
    EXPECT_EQ(examples.size(), kCount);
    EXPECT_LE(examples.bytes_in_memory(), memory);
    EXPECT_EQ(examples.in_memory(), memory == kAll);
    EXPECT_EQ(examples.bytes_in_file() > 0, memory != kAll);
    for (int i = 0; i < kCount; ++i) {
      const Record expected = record_of(i);
      expect_same(examples.get(i), expected);
      EXPECT_EQ(examples.where(i), expected.where);
      EXPECT_EQ(examples.label(i), expected.label);
      EXPECT_EQ(examples.split(i), expected.split);
      EXPECT_EQ(examples.content_hash(i), content_hash(expected));
    }
    EXPECT_PRED2(contains, error_of([&] { examples.get(kCount); }), "example 300 of 300");
  }
  EXPECT_TRUE(fs::is_empty(cache_.path() / "cache/examples")) << "a temporary file has no name";
}

TEST_F(ExamplesTest, ManyThreadsMayRead) {
  Examples examples(10000);
  for (int i = 0; i < 4000; ++i) examples.add(record_of(i % 300));
  EXPECT_GT(examples.bytes_in_file(), 1 << 20) << "more than waits to be written";
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = t; i < 4000; i += 3) wrong += examples.get(i).bytes == record_of(i % 300).bytes ? 0 : 1;
      });
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(ExamplesTest, PlacesOfAnyForm) {
  Examples examples(kAll);
  const std::vector<std::string> places = {"a:1",  "a:2",  "a:",   ":3", "",       "a:03",
                                           "a:-4", "a:+4", "a:1b", ":",  "b:c:17", "a:99999999999999999999"};
  for (const std::string& place : places) {
    Record record;
    record.where = place;
    examples.add(std::move(record));
  }
  for (size_t i = 0; i < places.size(); ++i) EXPECT_EQ(examples.where(static_cast<int64_t>(i)), places[i]);
}

TEST_F(ExamplesTest, LabelsOfAnyNumber) {
  Examples examples(kAll);
  constexpr int kCount = 70000;  // more than are looked up
  for (int i = 0; i < kCount; ++i) {
    Record record;
    record.label = std::to_string(i);
    examples.add(std::move(record));
  }
  for (const int i : {0, 1, 65535, 65536, kCount - 1}) EXPECT_EQ(examples.label(i), std::to_string(i));
}

TEST_F(ExamplesTest, FilesAreReadAgain) {
  const ScratchFolder folder;
  std::atomic<int> reads = 0;
  const auto files =
      std::make_shared<const ExampleFiles>(ExampleFiles{folder.path(), [&](const fs::path& path) {
                                                          ++reads;
                                                          Record record;
                                                          record.bytes = read_file(path);
                                                          return record;
                                                        }});
  const auto add = [&](Examples& examples, const char* name) {
    Record record = files->read(folder / name);
    record.where = name;
    record.label = "x";
    examples.add(std::move(record), files);
  };
  write_file(folder / "a.txt", "one");
  write_file(folder / "b.txt", "two");
  Examples held(kAll), lazy(0);
  add(held, "a.txt");
  add(lazy, "a.txt");
  add(lazy, "b.txt");
  reads = 0;
  EXPECT_EQ(held.get(0).bytes, "one");
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(lazy.get(0).bytes, "one");
  EXPECT_EQ(lazy.get(1).bytes, "two");
  EXPECT_EQ(lazy.get(1).label, "x");
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(lazy.bytes_in_memory() + lazy.bytes_in_file(), 0);
  EXPECT_FALSE(lazy.in_memory());

  write_file(folder / "a.txt", "uno");
  EXPECT_PRED2(contains, error_of([&] { lazy.get(0); }), "a.txt: has changed since the data set was loaded");
  fs::remove(folder / "b.txt");
  EXPECT_PRED2(contains, error_of([&] { lazy.get(1); }), "b.txt: could be read when the data set was loaded");
  EXPECT_EQ(held.get(0).bytes, "one");
}

TEST_F(ExamplesTest, WhatIsDroppedFreesItsMemory) {
  Examples examples(kAll);
  for (int i = 0; i < 10; ++i) examples.add(record_of(i));
  const int64_t before = examples.bytes_in_memory();
  for (int i = 0; i < 9; ++i) examples.drop(i);
  EXPECT_LT(examples.bytes_in_memory(), before / 2);
  expect_same(examples.get(9), record_of(9));
  EXPECT_PRED2(contains, error_of([&] { examples.get(0); }), "dropped");
  examples.drop(0);
  examples.drop(9);
  EXPECT_EQ(examples.bytes_in_memory(), 0);
}

TEST_F(ExamplesTest, ASpoolThatCannotBeWrittenSaysWhatToDo) {
  const auto spool = [](int count) {
    return error_of([&] {
      Examples examples(0);
      for (int i = 0; i < count; ++i) examples.add(record_of(i % 300));
    });
  };
  write_file(cache_ / "file", "");
  ::setenv("MEGA_CACHE", (cache_ / "file").c_str(), 1);
  EXPECT_PRED2(contains, spool(1), "set MEGA_CACHE");
  ::setenv("MEGA_CACHE", "/proc/nothing", 1);
  EXPECT_PRED2(contains, spool(1), "set MEGA_CACHE");

  // A limit on the size of files stands for a disk that is full.
  ::setenv("MEGA_CACHE", (cache_.path() / "cache").c_str(), 1);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = before;
  small.rlim_cur = 100000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = spool(10000);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_PRED2(contains, error, "cannot write to a temporary file for the examples beyond data.memory: ");
  EXPECT_PRED2(contains, error, "raise data.memory");
}

TEST_F(ExamplesTest, AnIndexThatDoesNotFitIsAnError) {
  Examples examples(0, 100'000);
  const std::string error = error_of([&] {
    for (int i = 0; i < 1'000'000; ++i) {
      Record record;
      record.where = "bomb.csv:" + std::to_string(i + 1);
      record.bytes = "a";
      examples.add(std::move(record));
    }
  });
  EXPECT_PRED2(contains, error, "bomb.csv:");
  EXPECT_PRED2(contains, error, "takes more than 97.7 KiB, the limit; raise data.memory");
  EXPECT_LT(examples.size(), 2000);
}

}  // namespace
}  // namespace mega::data
