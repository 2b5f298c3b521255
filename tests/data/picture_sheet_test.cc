#include "mega/data/picture_sheet.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;

Record picture_of(int64_t height, int64_t width, int64_t channels, uint8_t value, const std::string& where,
                  const std::string& label) {
  Record record;
  record.picture = Picture(height, width, channels);
  std::fill(record.picture.samples.begin(), record.picture.samples.end(), value);
  record.where = where;
  record.label = label;
  return record;
}

Signature signature_of(const InputOptions& input) {
  Signature signature;
  signature.input = input;
  signature.classes = {"cat", "dog"};
  return signature;
}

TEST(PictureSheet, ShowsPicturesAsTheyAreAndAsTheyAreSeen) {
  ImageInput input{4, 6, 0.4, 0.2};
  input.channels = 3;
  Part part({picture_of(8, 8, 4, 255, "a/1.png", "cat"), picture_of(5, 3000, 1, 90, "b/2.png", "dog")});
  part.labels = {0, 1};
  BatchOptions options;
  options.augment.image.mixup = 1;
  const auto cells = picture_sheet(part, Encoder(signature_of({input})), options, 1, 0);
  ASSERT_EQ(cells.size(), 2U);
  const size_t dog = cells[0].lines[1] == "dog" ? 0 : 1;
  EXPECT_EQ(cells[dog].lines[0], "2.png");
  EXPECT_EQ(cells[dog].pictures[0].width, 1024);
  EXPECT_EQ(cells[dog].pictures[0].height, 1);
  EXPECT_EQ(cells[dog].pictures[1].width, 6);
  EXPECT_EQ(cells[dog].pictures[1].height, 4);
  ASSERT_EQ(cells[dog].lines.size(), 3U);
  EXPECT_PRED2(contains, cells[dog].lines[2], "cat 0.");
  EXPECT_PRED2(contains, cells[dog].lines[2], "dog 0.");
  // Both are mixed of 90 and 255, with weights that go together.
  const auto grey = [&](size_t i) { return static_cast<int>(cells[i].pictures[1].samples[0]); };
  EXPECT_NEAR(grey(0) + grey(1), 90 + 255, 1);
  EXPECT_TRUE(contact_sheet(cells, 64).valid());
}

TEST(PictureSheet, NumbersBecomePicturesAgain) {
  ImageInput input{1, 2};
  input.channels = 3;
  input.means = {0.1, 0.2, 0.3};
  input.deviations = {0.5, 0.6, 0.7};
  Record record = picture_of(1, 2, 3, 0, "x", "cat");
  record.picture.samples = {0, 1, 2, 100, 200, 255};
  const Sequence sequence = Encoder(signature_of({input})).encode(record);
  EXPECT_EQ(decoded_picture(sequence.values, input).samples, record.picture.samples);
  EXPECT_EQ(decoded_picture(std::vector<float>(6, 1e9F), input).samples, std::vector<uint8_t>(6, 255));
}

TEST(PictureSheet, IsOfPictures) {
  const Encoder texts(signature_of({TextInput(TextUnits::bytes, 0)}));
  Part part({Record{}});
  EXPECT_PRED2(contains, error_of([&] { picture_sheet(part, texts, {}, 1, 0); }), "only pictures");
  EXPECT_PRED2(contains,
               error_of([&] { picture_sheet(Part(), Encoder(signature_of({ImageInput{}})), {}, 1, 0); }),
               "no training examples");
}

}  // namespace
}  // namespace mega::data
