#include "mega/data/formats/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "mega/base/error.h"

namespace mega::data {
namespace {

double lanczos(double x) {
  constexpr double kLobes = 3;
  if (x == 0) return 1;
  if (std::abs(x) >= kLobes) return 0;
  const double a = std::numbers::pi * x;
  return kLobes * std::sin(a) * std::sin(a / kLobes) / (a * a);
}

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

struct Kernel {
  double (*weight)(double);
  double reach;
};

Kernel kernel_of(Filter filter) {
  switch (filter) {
    case Filter::bilinear:
      return {triangle, 1};
    case Filter::bicubic:
      return {cubic, 2};
    case Filter::lanczos:
      break;
  }
  return {lanczos, 3};
}

// What an output pixel is made of: weights of 22 binary places for the pixels from `first` on. Sums of
// weighted pixels fit into 32 bits: 255 times the sum of the weights' absolute values, at most 1.7 of 2^22.
struct Taps {
  int64_t first = 0;
  std::vector<int32_t> weights;

  int64_t end() const { return first + std::ssize(weights); }
};
constexpr int kPlaces = 22;

Taps taps_of(int64_t pixel, int64_t from, int64_t to, const Kernel& kernel) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(1.0, scale);
  const double reach = stretch * kernel.reach;
  const double centre = (static_cast<double>(pixel) + 0.5) * scale;
  Taps taps;
  taps.first = std::max<int64_t>(0, static_cast<int64_t>(std::floor(centre - reach + 0.5)));
  const int64_t end = std::min(from, static_cast<int64_t>(std::floor(centre + reach + 0.5)));
  std::vector<double> weights;
  double sum = 0;
  for (int64_t k = taps.first; k < end; ++k) {
    weights.push_back(kernel.weight((static_cast<double>(k) - centre + 0.5) * (1.0 / stretch)));
    sum += weights.back();
  }
  for (const double weight : weights)
    taps.weights.push_back(static_cast<int32_t>(std::lround(std::ldexp(weight / sum, kPlaces))));
  return taps;
}

// Of the pixels begin .. begin + count - 1 of a line that is scaled.
std::vector<Taps> all_taps(int64_t begin, int64_t count, int64_t from, int64_t to, const Kernel& kernel) {
  std::vector<Taps> taps;
  taps.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) taps.push_back(taps_of(begin + i, from, to, kernel));
  return taps;
}

constexpr int32_t kHalf = int32_t{1} << (kPlaces - 1);

uint8_t from_fixed(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kPlaces, 0, 255)); }

template <int64_t kChannels>
void scale_row(const uint8_t* from, const std::vector<Taps>& taps, uint8_t* to) {
  for (const Taps& tap : taps) {
    const uint8_t* pixel = from + tap.first * kChannels;
    int32_t sums[kChannels];
    for (int32_t& sum : sums) sum = kHalf;
    for (const int32_t weight : tap.weights)
      for (int64_t c = 0; c < kChannels; ++c) sums[c] += weight * *pixel++;
    for (const int32_t sum : sums) *to++ = from_fixed(sum);
  }
}

void scale_row(const uint8_t* from, int64_t channels, const std::vector<Taps>& taps, uint8_t* to) {
  switch (channels) {
    case 1:
      return scale_row<1>(from, taps, to);
    case 2:
      return scale_row<2>(from, taps, to);
    case 3:
      return scale_row<3>(from, taps, to);
    default:
      return scale_row<4>(from, taps, to);
  }
}

// Rows of samples as they lie in memory.
struct Rows {
  const uint8_t* first;
  int64_t stride;

  const uint8_t* row(int64_t y) const { return first + y * stride; }
};

void scale_columns(const Rows& from, const std::vector<Taps>& taps, int64_t samples, uint8_t* to) {
  std::vector<int32_t> sums(static_cast<size_t>(samples));
  for (const Taps& tap : taps) {
    std::fill(sums.begin(), sums.end(), kHalf);
    for (size_t k = 0; k < tap.weights.size(); ++k) {
      const uint8_t* row = from.row(tap.first + static_cast<int64_t>(k));
      const int32_t weight = tap.weights[k];
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += weight * row[i];
    }
    for (const int32_t sum : sums) *to++ = from_fixed(sum);
  }
}

// The samples of the window. A pass that does not change a size is left out, as in Pillow.
std::vector<uint8_t> resample(Rows from, int64_t channels, const Resampling& wanted) {
  const Kernel kernel = kernel_of(wanted.filter);
  const Box& part = wanted.part;
  const Box& window = wanted.window;
  const int64_t samples = window.width * channels;
  from.first += part.top * from.stride + part.left * channels;

  const bool scales_rows = wanted.height != part.height;
  std::vector<Taps> rows;
  if (scales_rows) rows = all_taps(window.top, window.height, part.height, wanted.height, kernel);
  const int64_t first = scales_rows ? rows.front().first : window.top;
  const int64_t end = scales_rows ? rows.back().end() : window.top + window.height;

  std::vector<uint8_t> narrow;
  Rows middle = {from.first + window.left * channels, from.stride};
  if (wanted.width != part.width) {
    const std::vector<Taps> columns = all_taps(window.left, window.width, part.width, wanted.width, kernel);
    narrow.resize(static_cast<size_t>((end - first) * samples));
    for (int64_t y = first; y < end; ++y)
      scale_row(from.row(y), channels, columns, &narrow[static_cast<size_t>((y - first) * samples)]);
    middle = {narrow.data(), samples};
    for (Taps& tap : rows) tap.first -= first;
    if (!scales_rows) return narrow;
  }
  std::vector<uint8_t> result(static_cast<size_t>(window.height * samples));
  if (scales_rows) {
    scale_columns(middle, rows, samples, result.data());
  } else {
    for (int64_t y = 0; y < window.height; ++y)
      std::copy_n(middle.row(first + y), samples, &result[static_cast<size_t>(y * samples)]);
  }
  return result;
}

Resampling whole(int64_t from_height, int64_t from_width, int64_t height, int64_t width, Filter filter) {
  return {{0, 0, from_height, from_width}, height, width, {0, 0, height, width}, filter};
}

bool inside(const Box& box, int64_t height, int64_t width) {
  return box.top >= 0 && box.left >= 0 && box.height > 0 && box.width > 0 && box.height <= height - box.top &&
         box.width <= width - box.left;
}

}  // namespace

GreyImage resampled(const GreyImage& image, int64_t height, int64_t width, Filter filter) {
  GreyImage scaled;
  scaled.pixels = resample({image.pixels.data(), image.width}, 1,
                           whole(image.height, image.width, height, width, filter));
  scaled.height = height;
  scaled.width = width;
  return scaled;
}

Picture resampled(const Picture& picture, int64_t height, int64_t width, Filter filter) {
  return resampled(picture, whole(picture.height, picture.width, height, width, filter));
}

Picture resampled(const Picture& picture, const Resampling& wanted) {
  require(inside(wanted.part, picture.height, picture.width) &&
              inside(wanted.window, wanted.height, wanted.width),
          "resampled: a part or window that reaches beyond the picture");
  Picture scaled;
  scaled.samples =
      resample({picture.samples.data(), picture.width * picture.channels}, picture.channels, wanted);
  scaled.height = wanted.window.height;
  scaled.width = wanted.window.width;
  scaled.channels = picture.channels;
  return scaled;
}

}  // namespace mega::data
