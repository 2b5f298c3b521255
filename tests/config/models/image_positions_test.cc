#include "mega/config/models/image_positions.h"

#include <gtest/gtest.h>

#include "mega/config/models/transformer_options.h"

namespace mega {
namespace {

ImageClassifierOptions mega_of(int64_t height, int64_t width, int64_t chunk = -1) {
  ImageClassifierOptions options;
  options.image = height;
  options.image_width = width;
  options.patch = 4;
  options.block.chunk = chunk;
  return options;
}

const std::string kBias = "blocks.3.mega_layer.rel_pos_bias.rel_pos_bias";

std::vector<float> ramp(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * i % 17) - 3.0F);
  return values;
}

TEST(ImagePositions, OfTheSameSizeStayWhatTheyAre) {
  const ImageClassifierOptions options = mega_of(12, 20);  // 3 x 5 patches
  const std::vector<float> absolute = ramp(15 * 2), relative = ramp(29);
  EXPECT_EQ(resized_positions(options, options, "pos_embed", absolute), absolute);
  EXPECT_EQ(resized_positions(options, options, kBias, relative), relative);
}

TEST(ImagePositions, OtherTensorsHaveNone) {
  const ImageClassifierOptions options = mega_of(12, 12);
  EXPECT_FALSE(resized_positions(options, options, "head.weight", ramp(10)));
  EXPECT_FALSE(resized_positions(options, options, "blocks.0.mega_layer.gamma", ramp(10)));
}

// A plane stays one in any size, up to the little that libtorch's cubic bends it, away from the edges, beyond
// which it does not go on.
TEST(ImagePositions, AbsoluteOnesAreInterpolatedInRowsAndColumns) {
  const ImageClassifierOptions small = mega_of(40, 32), large = mega_of(80, 64);  // 10 x 8 and 20 x 16
  std::vector<float> plane;
  for (int64_t row = 0; row < 10; ++row)
    for (int64_t column = 0; column < 8; ++column) {
      plane.push_back(static_cast<float>(row));
      plane.push_back(static_cast<float>(column));
    }
  const auto resized = resized_positions(small, large, "pos_embed", plane);
  ASSERT_TRUE(resized);
  ASSERT_EQ(resized->size(), 20u * 16u * 2u);
  for (int64_t row = 4; row < 16; ++row)
    for (int64_t column = 4; column < 12; ++column) {
      const auto at = static_cast<size_t>((row * 16 + column) * 2);
      EXPECT_NEAR((*resized)[at], (static_cast<double>(row) + 0.5) / 2 - 0.5, 0.05);
      EXPECT_NEAR((*resized)[at + 1], (static_cast<double>(column) + 0.5) / 2 - 0.5, 0.05);
    }
}

TEST(ImagePositions, TokensBeforeThePatchesAreKept) {
  VisionTransformerOptions small, large;
  small.image = 32, large.image = 64;
  for (const bool distilled : {false, true}) {
    small.distilled = large.distilled = distilled;
    const std::vector<float> values = ramp(small.tokens() * 3);
    const auto resized = resized_positions(small, large, "pos_embed", values);
    ASSERT_TRUE(resized);
    ASSERT_EQ(std::ssize(*resized), large.tokens() * 3);
    for (size_t i = 0; i < static_cast<size_t>(small.extra_tokens()) * 3; ++i)
      EXPECT_EQ((*resized)[i], values[i]);
  }
}

// The bias of what is n rows above belongs to what is as far above in a finer grid, 2 n rows; a neighbour in
// the same row stays one.
TEST(ImagePositions, RelativeOnesFollowTheRows) {
  const ImageClassifierOptions small = mega_of(16, 20), large = mega_of(32, 40);  // 4 x 5 and 8 x 10
  const std::vector<float> table = ramp(39);
  const auto at = [](const std::vector<float>& values, int64_t offset) {
    return values[static_cast<size_t>(std::ssize(values) / 2 + offset)];
  };
  const auto resized = resized_positions(small, large, kBias, table);
  ASSERT_TRUE(resized);
  ASSERT_EQ(resized->size(), 159u);
  for (int64_t rows = -3; rows <= 3; ++rows)
    for (const int64_t columns : {-1, 0, 1})
      EXPECT_NEAR(at(*resized, 2 * rows * 10 + 2 * columns), at(table, rows * 5 + columns), 1e-5)
          << rows << " rows, " << columns << " columns";
  EXPECT_NEAR(at(*resized, 1), (at(table, 0) + at(table, 1)) / 2, 1e-5) << "half a patch to the right";
  EXPECT_NEAR(at(*resized, 10), (at(table, 0) + at(table, 5)) / 2, 1e-5) << "half a patch below";
}

TEST(ImagePositions, ChunksKeepTheirLength) {
  const auto resized = resized_positions(mega_of(32, 32, 16), mega_of(64, 48, 16), kBias, ramp(31));
  ASSERT_TRUE(resized);
  EXPECT_EQ(resized->size(), 31u);
}

}  // namespace
}  // namespace mega
