#include "mega/report/contact_sheet.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mega/report/pixel_font.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;

Thumbnail flat(int64_t height, int64_t width, int64_t channels, uint8_t value) {
  return {width, height, channels,
          std::vector<uint8_t>(static_cast<size_t>(height * width * channels), value)};
}

int64_t dark(const Thumbnail& picture) {
  return std::count(picture.samples.begin(), picture.samples.end(), 0) / 3;
}

TEST(PixelFont, WritesWhatFits) {
  Thumbnail picture = flat(9, 30, 3, 255);
  write_pixels(picture, 0, 0, "I", 0);
  EXPECT_EQ(dark(picture), 11);  // .###. twice, and five pixels between
  write_pixels(picture, 0, 6, " ", 0);
  EXPECT_EQ(dark(picture), 11);
  write_pixels(picture, -3, 27, "long text beyond the edge", 0);
  write_pixels(picture, 100, 0, "below", 0);
  write_pixels(picture, 0, 12, "\xc3\xa4", 0);  // no ASCII: boxes
  EXPECT_GT(dark(picture), 11);
}

TEST(PixelFont, EveryLetterDiffers) {
  std::vector<std::vector<uint8_t>> letters;
  for (char letter = ' '; letter <= '~'; ++letter) {
    Thumbnail picture = flat(8, 5, 3, 255);
    write_pixels(picture, 0, 0, std::string(1, letter), 0);
    letters.push_back(picture.samples);
  }
  std::sort(letters.begin(), letters.end());
  EXPECT_EQ(std::adjacent_find(letters.begin(), letters.end()), letters.end());
}

TEST(ContactSheet, PutsPicturesInRows) {
  std::vector<SheetCell> cells;
  for (int i = 0; i < 6; ++i)
    cells.push_back(
        {{flat(10, 20, 3, 10), flat(100, 50, 1, 20)}, {"one", "a line that is too long for any cell"}});
  const Thumbnail sheet = contact_sheet(cells, 40);
  EXPECT_TRUE(sheet.valid());
  EXPECT_EQ(sheet.channels, 3);
  const auto count = [&](uint8_t value) {
    return std::count(sheet.samples.begin(), sheet.samples.end(), value) / 3;
  };
  EXPECT_EQ(count(10), 6 * 20 * 40);  // twice as large
  EXPECT_EQ(count(20), 6 * 40 * 20);  // reduced
  EXPECT_GT(dark(sheet), 6 * 20);
}

TEST(ContactSheet, SaysWhatItCannotShow) {
  EXPECT_NE(error_of([] { contact_sheet({}, 10); }), "");
  EXPECT_NE(error_of([] { contact_sheet({{{flat(4, 4, 4, 0)}, {}}}, 4); }), "");
  const std::vector<SheetCell> many(1000, SheetCell{{flat(2, 2, 3, 1)}, {}});
  EXPECT_PRED2(contains, error_of([&] { contact_sheet(many, 1000); }), "too large");
}

}  // namespace
}  // namespace mega
