#include "mega/data/example_row.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "mega/base/strings.h"
#include "mega/report/markup.h"

namespace mega::data {
namespace {

void show_texts(const Record& record, Report::ExampleRow& row) {
  constexpr size_t kLongest = 200;
  if (record.second.empty()) {
    row.excerpt = shortened(record.bytes, kLongest);
    return;
  }
  constexpr size_t kLongestOfTwo = 95;
  row.excerpt =
      "1: " + shortened(record.bytes, kLongestOfTwo) + "\n2: " + shortened(record.second, kLongestOfTwo);
}

// One channel of numbers that lie position by position. Of a long one, the least and the greatest of each of
// so many intervals: the same outline.
std::vector<float> outline(const std::vector<float>& values, size_t channel, size_t channels) {
  constexpr size_t kIntervals = 500;
  const size_t positions = values.size() / channels;
  const auto value = [&](size_t position) { return values[position * channels + channel]; };
  std::vector<float> result;
  if (positions <= 2 * kIntervals) {
    for (size_t i = 0; i < positions; ++i) result.push_back(value(i));
    return result;
  }
  for (size_t interval = 0; interval < kIntervals; ++interval) {
    const size_t end = (interval + 1) * positions / kIntervals;
    size_t low = interval * positions / kIntervals;
    size_t high = low;
    for (size_t i = low + 1; i < end; ++i) {
      if (value(i) < value(low)) low = i;
      if (value(i) > value(high)) high = i;
    }
    result.push_back(value(std::min(low, high)));
    result.push_back(value(std::max(low, high)));
  }
  return result;
}

void show_sound(const Record& record, const AudioInput& input, Report::ExampleRow& row) {
  std::array<char, 64> seconds;
  std::snprintf(
      seconds.data(), seconds.size(), "%.2f s",
      static_cast<double>(record.values.size()) / static_cast<double>(std::max<int64_t>(1, input.rate)));
  row.facts = std::string(seconds.data()) + " at " + with_thousands(input.rate) + " Hz";
  row.series = {outline(record.values, 0, 1)};
}

void show_series(const Record& record, const SeriesInput& input, Report::ExampleRow& row) {
  constexpr size_t kMostChannels = 4;
  const auto channels = static_cast<size_t>(std::max<int64_t>(1, input.channels));
  const size_t positions = record.values.size() / channels;
  row.facts = with_thousands(static_cast<int64_t>(positions)) + (positions == 1 ? " position" : " positions");
  if (channels > 1) row.facts += ", " + with_thousands(input.channels) + " channels";
  if (channels > kMostChannels) row.facts += "; the first " + std::to_string(kMostChannels) + " are shown";
  for (size_t channel = 0; channel < std::min(channels, kMostChannels); ++channel)
    row.series.push_back(outline(record.values, channel, channels));
}

void show_picture(const Record& record, const ImageInput& input, Report::ExampleRow& row) {
  Thumbnail picture{record.picture.width, record.picture.height, record.picture.channels,
                    record.picture.samples};
  if (record.picture.empty())
    picture = {input.width, input.height, 1, {record.bytes.begin(), record.bytes.end()}};
  row.facts = with_thousands(picture.width) + " × " + with_thousands(picture.height) + " pixels";
  constexpr int64_t kSide = 96;
  if (picture.valid()) row.picture = shrunk(picture, kSide);
}

}  // namespace

void show_input(const Record& record, const InputOptions& input, Report::ExampleRow& row) {
  if (std::holds_alternative<TextInput>(input.input)) show_texts(record, row);
  if (const auto* image = std::get_if<ImageInput>(&input.input)) show_picture(record, *image, row);
  if (const auto* audio = std::get_if<AudioInput>(&input.input)) show_sound(record, *audio, row);
  if (const auto* series = std::get_if<SeriesInput>(&input.input)) show_series(record, *series, row);
}

}  // namespace mega::data
