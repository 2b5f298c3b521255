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

std::string record(int label, int red, int green, int blue) {
  std::string bytes(1, static_cast<char>(label));
  for (const int plane : {red, green, blue}) bytes += std::string(1024, static_cast<char>(plane));
  return bytes;
}

void write_compressed(const std::filesystem::path& path, const std::string& bytes) {
  OutputStream file(path);
  file.write(bytes);
  file.commit();
}

constexpr const char* kNames = "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n";

TEST(ReadCifar, TheBinaryVersion) {
  ScratchFolder scratch;
  write_file(scratch / "batches.meta.txt", kNames);
  write_compressed(scratch / "data_batch_1.bin.xz", record(3, 255, 0, 0) + record(9, 0, 0, 255));
  write_file(scratch / "test_batch.bin", record(0, 10, 10, 10));
  Problems problems(false);
  const Records records = in_grey(collect(read_cifar, scratch.path(), {}, problems), ImageInput{});
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].label, "cat");
  EXPECT_EQ(records[0].bytes, std::string(1024, 76));
  EXPECT_EQ(records[0].split, Split::train);
  EXPECT_EQ(records[1].label, "truck");
  EXPECT_EQ(records[1].bytes, std::string(1024, 29));
  EXPECT_EQ(records[1].where, "data_batch_1.bin.xz:2");
  EXPECT_EQ(records[2].label, "airplane");
  EXPECT_EQ(records[2].split, Split::test);
}

TEST(ReadCifar, KeepsColours) {
  ScratchFolder scratch;
  write_file(scratch / "a.bin", record(1, 10, 20, 30));
  Problems problems(false);
  const Picture picture = collect(read_cifar, scratch / "a.bin", {}, problems).at(0).picture;
  EXPECT_EQ(picture.channels, 3);
  ASSERT_EQ(picture.samples.size(), 3072U);
  for (size_t i = 0; i < picture.samples.size(); ++i) EXPECT_EQ(picture.samples[i], 10 * (i % 3 + 1));
}

TEST(ReadCifar, PixelsAreRowByRowAndScaled) {
  ScratchFolder scratch;
  std::string bytes = record(1, 0, 0, 0);
  for (size_t plane = 0; plane < 3; ++plane) {
    for (size_t x = 0; x < 32; ++x) bytes[1 + plane * 1024 + x] = static_cast<char>(200);
  }
  write_file(scratch / "a.bin", bytes);
  Problems problems(false);
  const Records records = in_grey(collect(read_cifar, scratch / "a.bin", {}, problems), ImageInput{});
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].label, "1");
  EXPECT_EQ(records[0].split, Split::unknown);
  EXPECT_EQ(records[0].bytes.substr(0, 32), std::string(32, static_cast<char>(200)));
  EXPECT_EQ(records[0].bytes.substr(32), std::string(992, 0));

  ImageInput small;
  small.height = 16;
  small.width = 8;
  EXPECT_EQ(in_grey(collect(read_cifar, scratch / "a.bin", {}, problems), small)[0].bytes.size(), 128U);
}

TEST(ReadCifar, WhatIsWrongIsNamed) {
  ScratchFolder scratch;
  write_file(scratch / "data_batch_1.bin",
             record(0, 1, 1, 1) + record(10, 1, 1, 1) + record(2, 1, 1, 1) + "xyz");
  write_file(scratch / "data_batch_2.bin", "");
  Problems problems(true);
  EXPECT_EQ(collect(read_cifar, scratch.path(), {}, problems).size(), 2U);
  ASSERT_EQ(problems.count(), 3);
  EXPECT_EQ(problems.first()[0].where, "data_batch_1.bin:2");
  EXPECT_PRED2(contains, problems.first()[0].what, "a label of 10");
  EXPECT_EQ(problems.first()[1].where, "data_batch_1.bin:4");
  EXPECT_PRED2(contains, problems.first()[1].what, "ends after 3 of the 3073 bytes");
  EXPECT_EQ(problems.first()[2].where, "data_batch_2.bin:1");

  write_file(scratch / "batches.meta.txt", "one\ntwo\n");
  EXPECT_PRED2(contains, error_of([&] { collect(read_cifar, scratch.path(), {}, problems); }),
               "2 names of classes");
  std::filesystem::create_directory(scratch / "empty");
  EXPECT_PRED2(contains, error_of([&] { collect(read_cifar, scratch / "empty", {}, problems); }),
               "no .bin file");
}

}  // namespace
}  // namespace mega::data
