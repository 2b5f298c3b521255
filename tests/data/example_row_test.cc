#include "mega/data/example_row.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mega/data/formats/image_file.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

Report::ExampleRow row_of(const Record& record, InputOptions input) {
  Report::ExampleRow row;
  show_input(record, input, row);
  return row;
}

TEST(ExampleRow, TextsBegin) {
  Record record;
  for (int i = 0; i < 1000; ++i) record.bytes += "ä";
  const Report::ExampleRow row = row_of(record, {TextInput()});
  EXPECT_TRUE(row.excerpt.starts_with("ääää") && row.excerpt.ends_with("ä…"));
  EXPECT_EQ(row.excerpt.size(), 199 * 2 + std::string("…").size()) << "200 characters";
  EXPECT_TRUE(row.facts.empty() && row.series.empty() && !row.picture.valid());
  EXPECT_EQ(row_of({}, {TextInput()}).excerpt, "");
}

TEST(ExampleRow, PairsShowBothTexts) {
  Record record;
  record.bytes = std::string(1000, 'a');
  record.second = "b";
  EXPECT_EQ(row_of(record, {TextInput()}).excerpt, "1: " + std::string(94, 'a') + "…\n2: b");
}

TEST(ExampleRow, SoundsHaveDurationRateAndOutline) {
  Record record;
  record.values.assign(20'000, 0.0F);
  record.values[12'345] = 1;
  record.values[12'346] = -1;
  const Report::ExampleRow row = row_of(record, {AudioInput{.rate = 16'000}});
  EXPECT_EQ(row.facts, "1.25 s at 16,000 Hz");
  ASSERT_EQ(row.series.size(), 1u);
  EXPECT_EQ(row.series[0].size(), 1000u);
  EXPECT_EQ(*std::max_element(row.series[0].begin(), row.series[0].end()), 1) << "peaks are kept";
  EXPECT_EQ(*std::min_element(row.series[0].begin(), row.series[0].end()), -1);
  EXPECT_EQ(row_of({}, {AudioInput{.rate = 0}}).facts, "0.00 s at 0 Hz");
}

TEST(ExampleRow, SeriesAreSplitIntoChannels) {
  Record record;
  record.values = {1, 10, 2, 20, 3, 30};
  const Report::ExampleRow row = row_of(record, {SeriesInput{.channels = 2}});
  EXPECT_EQ(row.facts, "3 positions, 2 channels");
  EXPECT_EQ(row.series, (std::vector<std::vector<float>>{{1, 2, 3}, {10, 20, 30}}));
  EXPECT_EQ(row_of(record, {SeriesInput{.channels = 1}}).facts, "6 positions");
  EXPECT_EQ(row_of(record, {SeriesInput{.channels = 6}}).facts,
            "1 position, 6 channels; the first 4 are shown");
  EXPECT_EQ(row_of(record, {SeriesInput{.channels = 6}}).series.size(), 4u);
  EXPECT_EQ(row_of({}, {SeriesInput{.channels = 0}}).facts, "0 positions");
}

TEST(ExampleRow, PicturesKeepTheirColours) {
  Record record;
  record.picture = Picture(2, 3, 3);
  record.picture.samples.assign(18, 200);
  record.picture.samples[0] = 0;
  const Report::ExampleRow row = row_of(record, {ImageInput()});
  EXPECT_EQ(row.facts, "3 × 2 pixels");
  const Picture back = decode_image(to_png(row.picture), "x");
  EXPECT_EQ(back.width, 3);
  EXPECT_EQ(back.height, 2);
  EXPECT_EQ(back.samples, record.picture.samples);

  record.picture = Picture(1000, 500, 1);
  EXPECT_EQ(row_of(record, {ImageInput()}).facts, "500 × 1,000 pixels");
  EXPECT_EQ(row_of(record, {ImageInput()}).picture.height, 96);
}

TEST(ExampleRow, GreyValuesHaveTheSizeOfTheModel) {
  Record record;
  record.bytes = "\x01\x02\xff\x04\x05\x06";
  const Report::ExampleRow row = row_of(record, {ImageInput{.height = 3, .width = 2}});
  EXPECT_EQ(row.facts, "2 × 3 pixels");
  EXPECT_EQ(decode_image(to_png(row.picture), "x").samples, (std::vector<uint8_t>{1, 2, 255, 4, 5, 6}));
  EXPECT_FALSE(row_of(record, {ImageInput{.height = 5, .width = 2}}).picture.valid()) << "another size";
}

}  // namespace
}  // namespace mega::data
