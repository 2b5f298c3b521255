#include <gtest/gtest.h>

#include "mega/base/files/file.h"
#include "mega/base/files/stream.h"
#include "mega/data/readers/readers.h"
#include "tests/base/helpers.h"
#include "tests/data/records.h"

namespace mega::data {
namespace {

using ::mega::testing::collect;
using ::mega::testing::contains;
using ::mega::testing::error_of;
using ::mega::testing::in_grey;
using ::mega::testing::Records;
using ::mega::testing::ScratchFolder;

std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

std::string idx(const std::vector<uint32_t>& sizes, const std::string& bytes) {
  std::string file = big_endian(0x800U | static_cast<uint32_t>(sizes.size()));
  for (const uint32_t size : sizes) file += big_endian(size);
  return file + bytes;
}

void write_compressed(const std::filesystem::path& path, const std::string& bytes) {
  OutputStream file(path);
  file.write(bytes);
  file.commit();
}

ImageInput two_by_two() {
  ImageInput input;
  input.height = input.width = 2;
  return input;
}

TEST(ReadIdx, ImagesAndLabelsByName) {
  ScratchFolder scratch;
  write_compressed(scratch / "train-images-idx3-ubyte.gz", idx({2, 2, 2}, "abcdefgh"));
  write_file(scratch / "train-labels-idx1-ubyte", idx({2}, {7, 3}));
  write_file(scratch / "t10k-images-idx3-ubyte", idx({1, 2, 2}, "wxyz"));
  write_compressed(scratch / "t10k-labels-idx1-ubyte.gz", idx({1}, {9}));
  Problems problems(false);
  const Records records = in_grey(collect(read_idx, scratch.path(), {}, problems), two_by_two());
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].bytes, "wxyz");
  EXPECT_EQ(records[0].label, "9");
  EXPECT_EQ(records[0].split, Split::test);
  EXPECT_EQ(records[1].bytes, "abcd");
  EXPECT_EQ(records[1].label, "7");
  EXPECT_EQ(records[1].split, Split::train);
  EXPECT_EQ(records[2].bytes, "efgh");
  EXPECT_EQ(records[2].label, "3");
  EXPECT_EQ(records[2].where, "train-images-idx3-ubyte.gz:2");

  EXPECT_EQ(collect(read_idx, scratch / "t10k-images-idx3-ubyte", {}, problems).size(), 1U);
}

TEST(ReadIdx, WhatIsWrongIsNamed) {
  ScratchFolder scratch;
  const auto read = [&](const std::string& images, const std::string& labels) {
    write_file(scratch / "train-images-idx3-ubyte", images);
    write_file(scratch / "train-labels-idx1-ubyte", labels);
    Problems problems(false);
    return error_of([&] { collect(read_idx, scratch.path(), {}, problems); });
  };
  const std::string labels = idx({2}, {1, 2});
  EXPECT_PRED2(contains, read(idx({2, 2, 2}, "abcdef"), labels), "ends before record 2 of 2");
  EXPECT_PRED2(contains, read(idx({2, 2, 2}, "abcdefgh"), idx({2}, {1})), "labels-idx1-ubyte ends before");
  EXPECT_PRED2(contains, read(idx({2, 2, 2}, "abcdefghi"), labels), "goes on after");
  EXPECT_PRED2(contains, read(idx({1, 2, 2}, "abcd"), labels), "2 labels for the 1 pictures");
  EXPECT_PRED2(contains, read(labels, labels), "expected 2051");
  EXPECT_PRED2(contains, read("abc", labels), "ends in its header");
  EXPECT_PRED2(contains, read(idx({2, 0xFFFFFFFF, 0xFFFFFFFF}, ""), labels), "4294967295 by 4294967295");
  EXPECT_PRED2(contains, read(idx({0xFFFFFFFF, 2, 2}, ""), idx({0xFFFFFFFF}, "")), "ends before record 1");

  std::filesystem::remove(scratch / "train-labels-idx1-ubyte");
  Problems problems(true);
  EXPECT_PRED2(contains, error_of([&] { collect(read_idx, scratch.path(), {}, problems); }),
               "no file train-labels-idx1-ubyte");
  std::filesystem::create_directory(scratch / "empty");
  EXPECT_PRED2(contains, error_of([&] { collect(read_idx, scratch / "empty", {}, problems); }),
               "no pictures");
}

TEST(ReadIdx, ATruncatedFileKeepsWhatItHas) {
  ScratchFolder scratch;
  write_file(scratch / "train-images-idx3-ubyte", idx({3, 2, 2}, "abcdefgh"));
  write_file(scratch / "train-labels-idx1-ubyte", idx({3}, {1, 2, 3}));
  Problems problems(true);
  EXPECT_EQ(collect(read_idx, scratch.path(), {}, problems).size(), 2U);
  ASSERT_EQ(problems.count(), 1);
  EXPECT_EQ(problems.first()[0].where, "train-images-idx3-ubyte:3");
}

}  // namespace
}  // namespace mega::data
