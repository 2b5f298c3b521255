#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "mega/data/formats/image_file.h"
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

std::string png_of(uint8_t grey, int64_t height, int64_t width) {
  GreyImage image(height, width);
  std::fill(image.pixels.begin(), image.pixels.end(), grey);
  return encode_png(image);
}

ImageInput size_of(int64_t height, int64_t width) {
  ImageInput input;
  input.height = height;
  input.width = width;
  return input;
}

void put(const ScratchFolder& scratch, const char* name, const std::string& bytes) {
  std::filesystem::create_directories((scratch / name).parent_path());
  std::ofstream(scratch / name, std::ios::binary) << bytes;
}

TEST(ReadImages, AFolderPerClass) {
  ScratchFolder scratch;
  put(scratch, "train/dog/b.png", png_of(9, 4, 4));
  put(scratch, "train/cat/a.png", png_of(7, 2, 3));
  put(scratch, "test/cat/c.pgm", "P2 1 1 255 8");
  put(scratch, "test/cat/notes.txt", "no picture");
  Problems problems(false);
  const Records records = in_grey(collect(read_images, scratch.path(), {}, problems), size_of(2, 3));
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].where, "test/cat/c.pgm");
  EXPECT_EQ(records[0].split, Split::test);
  EXPECT_EQ(records[0].bytes, std::string(6, 8));
  EXPECT_EQ(records[1].label, "cat");
  EXPECT_EQ(records[1].split, Split::train);
  EXPECT_EQ(records[1].bytes, std::string(6, 7));
  EXPECT_EQ(records[2].label, "dog");
  EXPECT_EQ(records[2].bytes, std::string(6, 9));

  DataOptions only_dogs;
  only_dogs.classes = {"dog"};
  EXPECT_EQ(collect(read_images, scratch.path(), only_dogs, problems).size(), 1U);
}

TEST(ReadImages, KeepsTheOrderOfManyFiles) {
  ScratchFolder scratch;
  for (int i = 0; i < 200; ++i) {
    put(scratch, ("x/" + std::to_string(1000 + i) + ".png").c_str(), png_of(static_cast<uint8_t>(i), 1, 1));
  }
  Problems problems(false);
  const Records records = in_grey(collect(read_images, scratch.path(), {}, problems), size_of(1, 1));
  ASSERT_EQ(records.size(), 200U);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(records[static_cast<size_t>(i)].bytes, std::string(1, static_cast<char>(i)));
  }
}

TEST(ReadImages, BrokenFilesAreProblems) {
  ScratchFolder scratch;
  put(scratch, "x/a.png", "");
  put(scratch, "x/b.jpg", "no jpeg");
  put(scratch, "x/c.png", png_of(1, 1, 1));
  Problems problems(true);
  EXPECT_EQ(collect(read_images, scratch.path(), {}, problems).size(), 1U);
  ASSERT_EQ(problems.count(), 2);
  EXPECT_EQ(problems.first()[0].where, "x/a.png");
  EXPECT_EQ(problems.first()[1].where, "x/b.jpg");
  Problems strict(false);
  EXPECT_PRED2(contains, error_of([&] { collect(read_images, scratch.path(), {}, strict); }), "a.png");
}

TEST(ReadImages, NothingToReadIsAnError) {
  ScratchFolder scratch;
  Problems problems(true);
  EXPECT_PRED2(contains, error_of([&] { collect(read_images, scratch.path(), {}, problems); }), "no PNG");
  EXPECT_PRED2(contains, error_of([&] { read_image(scratch / "absent.png"); }), "absent.png");
}

TEST(ReadImage, OnePictureScaled) {
  ScratchFolder scratch;
  put(scratch, "a.png", png_of(50, 100, 80));
  const Record record = in_grey(read_image(scratch / "a.png"), ImageInput{});
  EXPECT_EQ(record.bytes, std::string(1024, 50));
  EXPECT_EQ(record.label, "");
}

}  // namespace
}  // namespace mega::data
