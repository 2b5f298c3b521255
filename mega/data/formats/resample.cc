#include "mega/data/formats/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace mega::data {
namespace {

constexpr double kLobes = 3;

double lanczos(double x) {
  if (x == 0) return 1;
  if (std::abs(x) >= kLobes) return 0;
  const double a = std::numbers::pi * x;
  return kLobes * std::sin(a) * std::sin(a / kLobes) / (a * a);
}

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// What an output pixel is made of: weights of 22 binary places for the pixels from `first` on.
struct Taps {
  int64_t first = 0;
  std::vector<int64_t> weights;
};
constexpr int kPlaces = 22;

Taps taps_of(int64_t pixel, int64_t from, int64_t to, Filter filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(1.0, scale);
  const double reach = stretch * (filter == Filter::lanczos ? kLobes : 1);
  const double centre = (static_cast<double>(pixel) + 0.5) * scale;
  Taps taps;
  taps.first = std::max<int64_t>(0, static_cast<int64_t>(std::floor(centre - reach + 0.5)));
  const int64_t end = std::min(from, static_cast<int64_t>(std::floor(centre + reach + 0.5)));
  std::vector<double> weights;
  double sum = 0;
  for (int64_t k = taps.first; k < end; ++k) {
    const double x = (static_cast<double>(k) + 0.5 - centre) / stretch;
    weights.push_back(filter == Filter::lanczos ? lanczos(x) : triangle(x));
    sum += weights.back();
  }
  for (const double weight : weights) taps.weights.push_back(std::llround(std::ldexp(weight / sum, kPlaces)));
  return taps;
}

uint8_t from_fixed(int64_t sum) {
  const int64_t rounded = (sum + (int64_t{1} << (kPlaces - 1))) >> kPlaces;
  return static_cast<uint8_t>(std::clamp<int64_t>(rounded, 0, 255));
}

// The picture in another width and turned on its side, so that doing it twice changes both.
GreyImage resampled_on_its_side(const GreyImage& image, int64_t width, Filter filter) {
  GreyImage out(width, image.height);
  for (int64_t x = 0; x < width; ++x) {
    const Taps taps = taps_of(x, image.width, width, filter);
    for (int64_t y = 0; y < image.height; ++y) {
      const uint8_t* pixels = &image.pixels[static_cast<size_t>(y * image.width + taps.first)];
      int64_t sum = 0;
      for (size_t k = 0; k < taps.weights.size(); ++k) sum += taps.weights[k] * pixels[k];
      out.at(x, y) = from_fixed(sum);
    }
  }
  return out;
}

}  // namespace

GreyImage resampled(const GreyImage& image, int64_t height, int64_t width, Filter filter) {
  if (image.height == height && image.width == width) return image;
  return resampled_on_its_side(resampled_on_its_side(image, width, filter), height, filter);
}

}  // namespace mega::data
