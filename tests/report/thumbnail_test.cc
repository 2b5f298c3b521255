#include "mega/report/thumbnail.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"

namespace mega {
namespace {

using namespace std::literals;
using testing::contains;
using testing::error_of;

TEST(Thumbnail, Png) {
  const std::string png = to_png({2, 1, 1, {0, 255}});
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x01\x08\0\0\0\0"sv));
  EXPECT_TRUE(png.ends_with("\0\0\0\0IEND\xae\x42\x60\x82"sv)) << "with the checksum that every PNG ends in";
  for (const auto& [channels, type] : {std::pair{1, '\0'}, {2, '\4'}, {3, '\2'}, {4, '\6'}})
    EXPECT_EQ(to_png({1, 1, channels, std::vector<uint8_t>(static_cast<size_t>(channels))})[25], type);
}

TEST(Thumbnail, DataUri) {
  // Three sizes of picture, so that the last group of base64 has one, two and three bytes.
  std::string endings;
  for (int64_t width = 1; width < 40; ++width) {
    std::vector<uint8_t> samples;
    for (int64_t i = 0; i < width; ++i) samples.push_back(static_cast<uint8_t>(i * i * 37));
    const std::string uri = to_data_uri({width, 1, 1, samples});
    EXPECT_TRUE(uri.starts_with("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA"));
    EXPECT_EQ((uri.size() - 22) % 4, 0u);
    EXPECT_EQ(
        uri.substr(22).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
        std::string::npos);
    if (uri.ends_with("=="))
      endings += '1';
    else
      endings += uri.ends_with("=") ? '2' : '3';
  }
  for (const char ending : "123"s) EXPECT_NE(endings.find(ending), std::string::npos);
}

TEST(Thumbnail, ShrinksByMeans) {
  const Thumbnail picture{4, 2, 1, {0, 100, 200, 200, 100, 200, 200, 200}};
  const Thumbnail small = shrunk(picture, 2);
  EXPECT_EQ(small.width, 2);
  EXPECT_EQ(small.height, 1);
  EXPECT_EQ(small.samples, (std::vector<uint8_t>{100, 200}));
  EXPECT_EQ(shrunk(picture, 4).samples, picture.samples) << "small enough as it is";
  const Thumbnail colours = shrunk({2, 1, 3, {0, 10, 20, 100, 30, 21}}, 1);
  EXPECT_EQ(colours.samples, (std::vector<uint8_t>{50, 20, 21}));
  for (const int64_t longest : {1, 7, 96}) {
    const Thumbnail line = shrunk({1000, 3, 4, std::vector<uint8_t>(12'000, 9)}, longest);
    EXPECT_TRUE(line.valid());
    EXPECT_EQ(line.width, longest);
    EXPECT_EQ(line.samples, std::vector<uint8_t>(static_cast<size_t>(line.width * line.height * 4), 9));
  }
}

TEST(Thumbnail, RefusesWhatIsNoPicture) {
  const int64_t huge = int64_t{1} << 62;
  for (const Thumbnail& picture :
       {Thumbnail{}, Thumbnail{1, 1, 1, {}}, Thumbnail{2, 2, 1, {1, 2, 3}}, Thumbnail{-1, -1, 1, {1}},
        Thumbnail{1, 1, 5, {1, 2, 3, 4, 5}}, Thumbnail{1, 1, 0, {}}, Thumbnail{huge, 4, 1, {}}}) {
    EXPECT_FALSE(picture.valid());
    EXPECT_PRED2(contains, error_of([&] { to_png(picture); }), "another size than it says");
    EXPECT_PRED2(contains, error_of([&] { shrunk(picture, 10); }), "another size than it says");
  }
}

}  // namespace
}  // namespace mega
