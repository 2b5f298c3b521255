#include "mega/report/heat_overlay.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mega/base/error.h"

namespace mega {
namespace {

// Weights of a Gaussian, from the middle to three deviations.
std::vector<double> half_gaussian(double deviation) {
  std::vector<double> weights;
  for (int i = 0; i <= static_cast<int>(std::ceil(3.0 * deviation)); ++i)
    weights.push_back(std::exp(-0.5 * i * i / (deviation * deviation)));
  return weights;
}

// Means of `count` values that lie `step` apart with their neighbours; beyond the ends there is nothing.
void smooth_line(double* values, int64_t count, int64_t step, const std::vector<double>& gaussian,
                 std::vector<double>& line) {
  line.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) line[static_cast<size_t>(i)] = values[i * step];
  const auto reach = std::ssize(gaussian) - 1;
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0, weight = 0;
    for (int64_t k = std::max<int64_t>(0, i - reach); k <= std::min(count - 1, i + reach); ++k) {
      const double w = gaussian[static_cast<size_t>(std::abs(k - i))];
      sum += w * line[static_cast<size_t>(k)];
      weight += w;
    }
    values[i * step] = sum / weight;
  }
}

std::vector<double> smoothed(std::span<const float> weights, int64_t height, int64_t width) {
  std::vector<double> values;
  for (const float weight : weights)
    values.push_back(std::isfinite(weight) ? std::abs(static_cast<double>(weight)) : 0.0);
  const std::vector<double> gaussian =
      half_gaussian(std::max(0.5, static_cast<double>(std::max(height, width)) / 32.0));
  std::vector<double> line;
  for (int64_t y = 0; y < height; ++y) smooth_line(values.data() + y * width, width, 1, gaussian, line);
  for (int64_t x = 0; x < width; ++x) smooth_line(values.data() + x, height, width, gaussian, line);
  return values;
}

uint8_t rounded(double value) { return static_cast<uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

}  // namespace

Thumbnail heat_overlay(const Thumbnail& picture, std::span<const float> weights) {
  require(picture.valid() && (picture.channels == 1 || picture.channels == 3),
          "heat_overlay: expected a picture of 1 or 3 channels");
  require(std::ssize(weights) == picture.width * picture.height, "heat_overlay: ", weights.size(),
          " weights of a picture of ", picture.height, " by ", picture.width, " pixels");
  const std::vector<double> heat = smoothed(weights, picture.height, picture.width);
  const double most = std::max(1e-300, *std::max_element(heat.begin(), heat.end()));
  constexpr double kOpaque = 0.85;  // of the hottest place: the picture shines through
  Thumbnail result{picture.width, picture.height, 3, {}};
  result.samples.reserve(heat.size() * 3);
  for (size_t i = 0; i < heat.size(); ++i) {
    const uint8_t* sample = &picture.samples[i * static_cast<size_t>(picture.channels)];
    const double grey = picture.channels == 1 ? sample[0] : (sample[0] + sample[1] + sample[2]) / 3.0;
    const double share = heat[i] / most, cover = kOpaque * share;
    const double colour[3] = {255.0, 220.0 * (1.0 - share), 0.0};  // from yellow to red
    for (const double own : colour) result.samples.push_back(rounded((1.0 - cover) * grey + cover * own));
  }
  return result;
}

}  // namespace mega
