#include "mega/data/augment/picture_geometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>

namespace mega::data {
namespace {

// The cubic through four values, at t between the second and the third.
double cubic(double v0, double v1, double v2, double v3, double t) {
  return v1 + t * (v2 - v0 + t * (2 * (v0 - v1) + v2 - v3 + t * (-v0 + v1 - v2 + v3)));
}

uint8_t truncated(double value) { return value <= 0 ? 0 : value >= 255 ? 255 : static_cast<uint8_t>(value); }

// Where a source coordinate falls between pixels: the four around it, edges repeated, and the way from the
// second to the third.
struct Place {
  Place(double at, int64_t size) {
    const double low = std::floor(at);
    share = at - low;
    for (int64_t i = 0; i < 4; ++i)
      pixels[static_cast<size_t>(i)] = std::clamp<int64_t>(static_cast<int64_t>(low) - 1 + i, 0, size - 1);
  }

  std::array<int64_t, 4> pixels;
  double share;
};

// On a grid line (share 0) the cubic is its second value exactly, and the others are not looked at.
double along_row(const uint8_t* row, int64_t channels, int64_t channel, const Place& x) {
  const auto value = [&](size_t i) { return static_cast<double>(row[x.pixels[i] * channels + channel]); };
  return x.share == 0 ? value(1) : cubic(value(0), value(1), value(2), value(3), x.share);
}

uint8_t interpolated(const Picture& picture, int64_t channel, const Place& x, const Place& y) {
  const auto row = [&](size_t i) {
    return along_row(picture.row(y.pixels[i]), picture.channels, channel, x);
  };
  return truncated(y.share == 0 ? row(1) : cubic(row(0), row(1), row(2), row(3), y.share));
}

// As Python's round(value, 15): what the decimal digits say.
double to_15_places(double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.15f", value);
  return std::strtod(text.data(), nullptr);
}

}  // namespace

Picture transformed(const Picture& picture, const Affine& map, const Fill& fill) {
  Picture result(picture.height, picture.width, picture.channels);
  const auto height = static_cast<double>(picture.height), width = static_cast<double>(picture.width);
  uint8_t* to = result.samples.data();
  for (int64_t row = 0; row < picture.height; ++row) {
    for (int64_t column = 0; column < picture.width; ++column, to += picture.channels) {
      const double x = static_cast<double>(column) + 0.5, y = static_cast<double>(row) + 0.5;
      const double u = map.a * x + map.b * y + map.c, v = map.d * x + map.e * y + map.f;
      if (!(u >= 0 && u < width && v >= 0 && v < height)) {
        std::copy_n(fill.begin(), picture.channels, to);
        continue;
      }
      const Place across(u - 0.5, picture.width), down(v - 0.5, picture.height);
      for (int64_t channel = 0; channel < picture.channels; ++channel)
        to[channel] = interpolated(picture, channel, across, down);
    }
  }
  return result;
}

Affine shear_x(double factor) { return {1, factor, 0, 0, 1, 0}; }
Affine shear_y(double factor) { return {1, 0, 0, factor, 1, 0}; }
Affine translate_x(double pixels) { return {1, 0, pixels, 0, 1, 0}; }
Affine translate_y(double pixels) { return {1, 0, 0, 0, 1, pixels}; }

Affine rotation(double degrees, int64_t height, int64_t width) {
  double turn = std::fmod(degrees, 360.0);
  if (turn < 0) turn += 360.0;
  const double angle = -(turn * (std::numbers::pi / 180.0));
  const double cosine = to_15_places(std::cos(angle)), sine = to_15_places(std::sin(angle));
  const double minus_sine = to_15_places(-std::sin(angle));
  const double x = static_cast<double>(width) / 2.0, y = static_cast<double>(height) / 2.0;
  return {cosine,     sine,   cosine * -x + sine * -y + x,  //
          minus_sine, cosine, minus_sine * -x + cosine * -y + y};
}

void flip(Picture& picture) {
  for (int64_t y = 0; y < picture.height; ++y) {
    uint8_t* left = picture.row(y);
    uint8_t* right = left + (picture.width - 1) * picture.channels;
    for (; left < right; left += picture.channels, right -= picture.channels)
      std::swap_ranges(left, left + picture.channels, right);
  }
}

}  // namespace mega::data
