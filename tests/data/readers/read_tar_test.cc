#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "mega/data/dataset.h"
#include "mega/data/formats/image_file.h"
#include "mega/data/readers/read_inputs.h"
#include "mega/data/readers/readers.h"
#include "tests/base/helpers.h"
#include "tests/data/formats/picture_files.h"
#include "tests/data/formats/tar_bytes.h"
#include "tests/data/records.h"

namespace mega::data {
namespace {

using namespace ::mega::testing;

std::string png_of(uint8_t grey) {
  GreyImage image(2, 2);
  std::fill(image.pixels.begin(), image.pixels.end(), grey);
  return encode_png(image);
}

void put(const ScratchFolder& scratch, const char* name, const std::string& bytes) {
  std::filesystem::create_directories((scratch / name).parent_path());
  std::ofstream(scratch / name, std::ios::binary) << bytes;
}

struct Read {
  std::string label;
  Split split;
  uint8_t grey;
  bool operator==(const Read&) const = default;
};
std::map<std::string, Read> summary(const Records& records) {
  std::map<std::string, Read> read;
  for (const Record& record : records)
    read[record.where] = {record.label, record.split, record.picture.samples.at(0)};
  return read;
}

TEST(ReadTar, ImageNetsArchiveOfArchives) {
  ScratchFolder scratch;
  const std::string fish = tar_entry("n01440764_1.JPEG", encode_jpeg(Picture(8, 8, 3))) + tar_end();
  const std::string hen = tar_entry("n01514668_7.JPEG", png_of(7)) + tar_end();  // whatever its name
  put(scratch, "ILSVRC2012_img_train.tar",
      tar_entry("n01440764.tar", fish) + tar_entry("n01514668.tar", hen) + tar_end());
  Problems problems(false);
  const auto read = summary(collect(read_tar, scratch.path(), {}, problems));
  EXPECT_EQ(
      read,
      (std::map<std::string, Read>{
          {"ILSVRC2012_img_train.tar/n01440764.tar/n01440764_1.JPEG", {"n01440764", Split::train, 0}},
          {"ILSVRC2012_img_train.tar/n01514668.tar/n01514668_7.JPEG", {"n01514668", Split::train, 7}}}));
  EXPECT_EQ(collect(read_tar, scratch / "ILSVRC2012_img_train.tar", {}, problems).size(), 2U);
}

TEST(ReadTar, AnArchivePerClassAndFoldersInside) {
  ScratchFolder scratch;
  put(scratch, "train/cat.tar", tar_entry("1.png", png_of(1)) + tar_end());
  put(scratch, "train/dog.tar", tar_entry("sub/2.png", png_of(2)) + tar_end());
  put(scratch, "test.tar", tar_entry("./cat/3.png", png_of(3)) + tar_entry("README", "x") + tar_end());
  Problems problems(false);
  const auto read = summary(collect(read_tar, scratch.path(), {}, problems));
  EXPECT_EQ(read.at("train/cat.tar/1.png"), (Read{"cat", Split::train, 1}));
  EXPECT_EQ(read.at("train/dog.tar/sub/2.png"), (Read{"sub", Split::train, 2}));
  EXPECT_EQ(read.at("test.tar/./cat/3.png"), (Read{"cat", Split::test, 3}));
  DataOptions options;
  options.classes = {"cat"};
  EXPECT_EQ(collect(read_tar, scratch.path(), options, problems).size(), 2U);
  options = {};
  options.label_pattern = "([0-9])[.]png";
  EXPECT_EQ(summary(collect(read_tar, scratch.path(), options, problems)).at("train/dog.tar/sub/2.png").label,
            "2");
}

TEST(ReadTar, WebDataset) {
  ScratchFolder scratch;
  put(scratch, "set-train-000.tar",
      tar_entry("000.png", png_of(1)) + tar_entry("000.cls", "5\n") +
          tar_entry("001.json", R"({"label": "cat"})") + tar_entry("001.png", png_of(2)) + tar_end());
  put(scratch, "set-val-000.tar",
      tar_entry("a/9.png", png_of(3)) + tar_entry("a/9.json", R"({"cls": 7})") + tar_entry("a/9.cls", "dog") +
          tar_end());
  Problems problems(false);
  const auto read = summary(collect(read_tar, scratch.path(), {}, problems));
  EXPECT_EQ(read.at("set-train-000.tar/000.png"), (Read{"5", Split::train, 1}));
  EXPECT_EQ(read.at("set-train-000.tar/001.png"), (Read{"cat", Split::train, 2}));
  EXPECT_EQ(read.at("set-val-000.tar/a/9.png"), (Read{"dog", Split::valid, 3}));
}

TEST(ReadTar, ProblemsNameTheirFile) {
  ScratchFolder scratch;
  put(scratch, "ILSVRC2012_img_val.tar", tar_entry("ILSVRC2012_val_00000001.JPEG", png_of(1)) + tar_end());
  Problems none(false);
  EXPECT_PRED2(contains, error_of([&] { collect(read_tar, scratch.path(), {}, none); }),
               "ILSVRC2012_val_00000001.JPEG: not in a folder of a class");
  ScratchFolder broken;
  put(broken, "cat.tar",
      tar_entry("good.png", png_of(1)) + tar_entry("empty.jpg", "") +
          tar_entry("cut.jpg", encode_jpeg(Picture(8, 8, 3)).substr(0, 300)) + tar_end());
  Problems problems(true);
  EXPECT_EQ(collect(read_tar, broken.path(), {}, problems).size(), 1U);
  ASSERT_EQ(problems.count(), 2);
  EXPECT_EQ(problems.first()[0].where, "cat.tar/empty.jpg");
  EXPECT_PRED2(contains, problems.first()[0].what, "the file is empty");
  EXPECT_EQ(problems.first()[1].where, "cat.tar/cut.jpg");
  ScratchFolder json;
  put(json, "a.tar", tar_entry("1.png", png_of(1)) + tar_entry("1.json", "{}") + tar_end());
  EXPECT_PRED2(contains, error_of([&] { collect(read_tar, json.path(), {}, none); }),
               "a.tar/1.json: has none of");
  ScratchFolder twice;
  put(twice, "a.tar", tar_entry("1.png", png_of(1)) + tar_entry("1.png", png_of(2)) + tar_end());
  EXPECT_PRED2(contains, error_of([&] { collect(read_tar, twice.path(), {}, none); }),
               "a.tar/1.png: stands twice");
  ScratchFolder empty;
  EXPECT_PRED2(contains, error_of([&] { collect(read_tar, empty.path(), {}, none); }), "no PNG, JPEG");
}

// Nothing is read before it is asked for, and then the same as what is read at once.
TEST(ReadTar, Lazily) {
  ScratchFolder scratch;
  for (const char* name : {"cat.tar", "dog.tar"}) {
    std::string archive;
    for (int i = 0; i < 10; ++i)
      archive += tar_entry(std::to_string(i) + ".png", png_of(static_cast<uint8_t>(10 * i)));
    put(scratch, name, archive + tar_end());
  }
  DatasetRequest request;
  request.data.path = scratch.path().string();
  request.input.input = ImageInput{2, 2};
  EXPECT_EQ(find_format(request), DataFormat::tar);
  const Dataset now = load_dataset(request);
  request.data.lazy = true;
  const Dataset later = load_dataset(request);
  EXPECT_TRUE(now.checksum.starts_with("h1-"));
  EXPECT_TRUE(later.checksum.starts_with("p1-"));
  ASSERT_EQ(later.train.size(), now.train.size());
  EXPECT_EQ(later.train.examples->bytes_in_memory(), 0);
  for (int64_t i = 0; i < now.train.size(); ++i) {
    EXPECT_EQ(now.train.get(i).picture.samples, later.train.get(i).picture.samples);
    EXPECT_EQ(now.train.where(i), later.train.where(i));
  }
  // A broken one is an Error when its turn comes, with its place; or found at the beginning.
  put(scratch, "cow.tar", tar_entry("bad.png", "rubbish") + tar_end());
  request.data.valid_share = request.data.test_share = 0;
  const Dataset broken = load_dataset(request);
  int errors = 0;
  for (int64_t i = 0; i < broken.train.size(); ++i) {
    try {
      broken.train.get(i);
    } catch (const Error& error) {
      ++errors;
      EXPECT_PRED2(contains, error.what(), "cow.tar/bad.png: not a PNG");
    }
  }
  EXPECT_EQ(errors, 1);
  request.data.skip_broken = true;
  EXPECT_EQ(load_dataset(request).problems, 1);
}

TEST(ReadTar, IsReadForPredictions) {
  ScratchFolder scratch;
  put(scratch, "photos.tar", tar_entry("1.png", png_of(1)) + tar_entry("2.png", png_of(2)) + tar_end());
  Signature signature;
  signature.input.input = ImageInput{2, 2};
  signature.data.lazy = true;
  std::vector<std::string> places;
  Problems problems(false);
  read_inputs((scratch / "photos.tar").string(), input_request(signature, 1),
              [&](Record&& record) { places.push_back(record.where); }, problems);
  EXPECT_EQ(places, (std::vector<std::string>{(scratch / "photos.tar/1.png").string(),
                                              (scratch / "photos.tar/2.png").string()}));
}

}  // namespace
}  // namespace mega::data
