#include "mega/data/picture_sheet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/data/example_source.h"
#include "mega/data/formats/resample.h"

namespace mega::data {
namespace {

Thumbnail as_it_is(const Record& record, const ImageInput& input) {
  if (record.picture.empty())
    return {input.width, input.height, 1, {record.bytes.begin(), record.bytes.end()}};
  constexpr int64_t kLongest = 1024;  // larger than any cell
  Picture picture = with_channels(record.picture, record.picture.channels < 3 ? 1 : 3);
  const int64_t longest = std::max(picture.height, picture.width);
  if (longest > kLongest)
    picture = resampled(picture, std::max<int64_t>(1, picture.height * kLongest / longest),
                        std::max<int64_t>(1, picture.width * kLongest / longest), Filter::bilinear);
  return {picture.width, picture.height, picture.channels, std::move(picture.samples)};
}

// "cat 0.62, dog 0.38": the largest first.
std::string mixture(std::span<const float> weights, const std::vector<std::string>& classes) {
  std::vector<std::pair<float, size_t>> order;
  for (size_t c = 0; c < weights.size(); ++c)
    if (weights[c] > 0) order.emplace_back(-weights[c], c);
  std::sort(order.begin(), order.end());
  std::vector<std::string> parts;
  for (const auto& [negative, c] : order) {
    std::array<char, 16> weight;
    std::snprintf(weight.data(), weight.size(), "%.2f", -static_cast<double>(negative));
    parts.push_back(classes[c] + " " + weight.data());
  }
  return join(parts, ", ");
}

}  // namespace

Thumbnail decoded_picture(std::span<const float> values, const ImageInput& input) {
  Thumbnail picture{input.width, input.height, input.channels, {}};
  picture.samples.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto channel = static_cast<int64_t>(i) % input.channels;
    const double value =
        static_cast<double>(values[i]) * input.deviation_of(channel) + input.mean_of(channel);
    picture.samples.push_back(static_cast<uint8_t>(std::clamp(std::nearbyint(255.0 * value), 0.0, 255.0)));
  }
  return picture;
}

std::vector<SheetCell> picture_sheet(const Part& part, const Encoder& encoder, const BatchOptions& options,
                                     uint64_t seed, int64_t epoch) {
  const auto* input = std::get_if<ImageInput>(&encoder.signature().input.input);
  require(input != nullptr, "only pictures can be shown: expected input.kind = image");
  require(!part.empty(), "there are no training examples to show");
  ExampleSource source(part, encoder, options, seed);
  const Batch batch = source.make(source.plan(epoch).front());
  const std::vector<std::string>& classes = encoder.signature().classes;
  std::vector<SheetCell> cells;
  const std::span<const float> values = batch.inputs.front().values;
  const size_t each = values.size() / batch.examples.size();
  for (size_t i = 0; i < batch.examples.size(); ++i) {
    const Record record = part.get(batch.examples[i]);
    SheetCell cell;
    cell.pictures = {as_it_is(record, *input), decoded_picture(values.subspan(i * each, each), *input)};
    cell.lines = {std::filesystem::path(record.where).filename().string(), record.label};
    if (!batch.targets.soft.empty()) {
      const std::span<const float> soft = batch.targets.soft;
      cell.lines.push_back(mixture(soft.subspan(i * classes.size(), classes.size()), classes));
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace mega::data
