#include "mega/report/heat_overlay.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/base/helpers.h"

namespace mega {
namespace {

Thumbnail flat(int64_t height, int64_t width, int64_t channels, uint8_t value) {
  return {width, height, channels,
          std::vector<uint8_t>(static_cast<size_t>(height * width * channels), value)};
}

TEST(HeatOverlay, IsRedWhereTheWeightIs) {
  std::vector<float> weights(16 * 24);
  weights[5 * 24 + 7] = -2;  // what speaks against counts as what speaks for
  for (const int64_t channels : {1, 3}) {
    const Thumbnail result = heat_overlay(flat(16, 24, channels, 100), weights);
    ASSERT_TRUE(result.valid());
    EXPECT_EQ(result.channels, 3);
    const auto pixel = [&](int64_t y, int64_t x) {
      return std::vector<int>(&result.samples[static_cast<size_t>((y * 24 + x) * 3)],
                              &result.samples[static_cast<size_t>((y * 24 + x) * 3)] + 3);
    };
    EXPECT_EQ(pixel(5, 7), (std::vector{232, 15, 15}));
    EXPECT_EQ(pixel(15, 23), (std::vector{100, 100, 100})) << "the picture alone";
    EXPECT_GT(pixel(5, 8)[1], pixel(5, 7)[1]) << "yellower beside it";
  }
}

TEST(HeatOverlay, OfOnePixelOrNoWeightOrNoNumber) {
  EXPECT_EQ(heat_overlay(flat(1, 1, 1, 7), std::vector<float>{0}).samples, (std::vector<uint8_t>{7, 7, 7}));
  const std::vector<float> weights = {std::numeric_limits<float>::quiet_NaN(),
                                      std::numeric_limits<float>::infinity()};
  EXPECT_EQ(heat_overlay(flat(1, 2, 1, 7), weights).samples, std::vector<uint8_t>(6, 7));
}

TEST(HeatOverlay, RefusesOtherSizes) {
  const std::vector<float> weights(5);
  EXPECT_PRED2(testing::contains, testing::error_of([&] { heat_overlay(flat(2, 3, 3, 0), weights); }),
               "5 weights of a picture of 2 by 3 pixels");
  EXPECT_PRED2(testing::contains, testing::error_of([&] { heat_overlay(flat(1, 5, 4, 0), weights); }),
               "1 or 3 channels");
}

}  // namespace
}  // namespace mega
