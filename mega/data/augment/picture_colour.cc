#include "mega/data/augment/picture_colour.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace mega::data {
namespace {

using Table = std::array<uint8_t, 256>;
using Histogram = std::array<int64_t, 256>;

template <class Function>
Table table_of(const Function& function) {
  Table table;
  for (int value = 0; value < 256; ++value)
    table[static_cast<size_t>(value)] = static_cast<uint8_t>(std::clamp<int64_t>(function(value), 0, 255));
  return table;
}

void look_up(Picture& picture, const Table& table) {
  for (uint8_t& sample : picture.samples) sample = table[sample];
}

void look_up(Picture& picture, int64_t channel, const Table& table) {
  for (auto i = static_cast<size_t>(channel); i < picture.samples.size();
       i += static_cast<size_t>(picture.channels))
    picture.samples[i] = table[picture.samples[i]];
}

Histogram histogram(const Picture& picture, int64_t channel) {
  Histogram counts{};
  for (auto i = static_cast<size_t>(channel); i < picture.samples.size();
       i += static_cast<size_t>(picture.channels))
    ++counts[picture.samples[i]];
  return counts;
}

int lowest(const Histogram& counts) {
  int value = 0;
  while (value < 255 && counts[static_cast<size_t>(value)] == 0) ++value;
  return value;
}

int highest(const Histogram& counts) {
  int value = 255;
  while (value > 0 && counts[static_cast<size_t>(value)] == 0) --value;
  return value;
}

uint8_t grey_of(const uint8_t* pixel, int64_t channels) {
  return channels == 1 ? pixel[0] : luma(pixel[0], pixel[1], pixel[2]);
}

// a + f (v - a) in single precision, product and sum rounded by themselves.
uint8_t blended(int from, int to, float factor) {
  const float product = factor * static_cast<float>(to - from);
  const float sum = static_cast<float>(from) + product;
  return sum <= 0 ? 0 : sum >= 255 ? 255 : static_cast<uint8_t>(sum);
}

}  // namespace

void auto_contrast(Picture& picture) {
  for (int64_t channel = 0; channel < picture.channels; ++channel) {
    const Histogram counts = histogram(picture, channel);
    const int low = lowest(counts), high = highest(counts);
    if (high <= low) continue;
    const double scale = 255.0 / (high - low), offset = -low * scale;
    look_up(picture, channel,
            table_of([&](int value) { return static_cast<int64_t>(value * scale + offset); }));
  }
}

void equalize(Picture& picture) {
  for (int64_t channel = 0; channel < picture.channels; ++channel) {
    const Histogram counts = histogram(picture, channel);
    const int high = highest(counts);
    const int64_t pixels = picture.height * picture.width;
    const int64_t step = (pixels - counts[static_cast<size_t>(high)]) / 255;
    if (step == 0) continue;  // also where there is one value only
    int64_t below = step / 2;
    look_up(picture, channel, table_of([&](int value) {
              const int64_t target = below / step;
              below += counts[static_cast<size_t>(value)];
              return target;
            }));
  }
}

void invert(Picture& picture) {
  look_up(picture, table_of([](int value) { return 255 - value; }));
}

void posterize(Picture& picture, int bits) {
  const int mask = 0xFF << (8 - std::clamp(bits, 0, 8));
  look_up(picture, table_of([&](int value) { return value & mask; }));
}

void solarize(Picture& picture, int threshold) {
  look_up(picture, table_of([&](int value) { return value < threshold ? value : 255 - value; }));
}

void solarize_add(Picture& picture, int add) {
  look_up(picture, table_of([&](int value) { return value < 128 ? value + add : value; }));
}

void change_saturation(Picture& picture, double factor) {
  if (factor == 1 || picture.channels == 1) return;
  const auto f = static_cast<float>(factor);
  for (size_t i = 0; i < picture.samples.size(); i += 3) {
    const uint8_t grey = grey_of(&picture.samples[i], 3);
    for (size_t c = 0; c < 3; ++c) picture.samples[i + c] = blended(grey, picture.samples[i + c], f);
  }
}

void change_contrast(Picture& picture, double factor) {
  if (factor == 1) return;
  int64_t sum = 0;
  for (size_t i = 0; i < picture.samples.size(); i += static_cast<size_t>(picture.channels))
    sum += grey_of(&picture.samples[i], picture.channels);
  const double mean = static_cast<double>(sum) / static_cast<double>(picture.height * picture.width);
  const int grey = static_cast<int>(mean + 0.5);
  const auto f = static_cast<float>(factor);
  look_up(picture, table_of([&](int value) { return blended(grey, value, f); }));
}

void change_brightness(Picture& picture, double factor) {
  if (factor == 1) return;
  const auto f = static_cast<float>(factor);
  look_up(picture, table_of([&](int value) { return blended(0, value, f); }));
}

void change_sharpness(Picture& picture, double factor) {
  if (factor == 1) return;
  const auto f = static_cast<float>(factor);
  const Picture before = picture;
  const int64_t channels = picture.channels, samples = picture.width * channels;
  // At the border the blurred picture is the picture itself, and blends of equal values change nothing.
  for (int64_t y = 1; y < picture.height - 1; ++y) {
    const uint8_t* above = before.row(y - 1);
    const uint8_t* here = before.row(y);
    const uint8_t* below = before.row(y + 1);
    uint8_t* to = picture.row(y);
    for (int64_t i = channels; i < samples - channels; ++i) {
      int sum = 4 * here[i];
      for (const uint8_t* row : {above, here, below}) sum += row[i - channels] + row[i] + row[i + channels];
      to[i] = blended((2 * sum + 13) / 26, here[i], f);  // of 13 parts, to the nearest
    }
  }
}

}  // namespace mega::data
