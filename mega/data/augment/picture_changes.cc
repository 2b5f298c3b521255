#include "mega/data/augment/picture_changes.h"

#include <algorithm>
#include <cmath>

#include "mega/base/random.h"
#include "mega/data/augment/draws.h"
#include "mega/data/augment/random_box.h"

namespace mega::data {
namespace {

Filter filter_of(const ImageInput& input) {
  return input.filter == ImageFilter::bicubic ? Filter::bicubic : Filter::bilinear;
}

// The side that the other one goes with, truncated.
int64_t in_proportion(int64_t side, int64_t long_side, int64_t short_side) {
  return static_cast<int64_t>(static_cast<double>(side) * static_cast<double>(long_side) /
                              static_cast<double>(short_side));
}

// Halves to even, as released.
int64_t centred(int64_t length, int64_t kept) {
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(length - kept) / 2.0));
}

}  // namespace

Resampling plain_view(const ImageInput& input, int64_t height, int64_t width) {
  Resampling view = {
      {0, 0, height, width}, input.height, input.width, {0, 0, input.height, input.width}, filter_of(input)};
  if (input.crop <= 0) return view;
  const auto around = [&](int64_t side) {
    return static_cast<int64_t>(std::floor(static_cast<double>(side) / input.crop));
  };
  view.height = around(input.height);
  view.width = around(input.width);
  // The picture covers the frame: one of its sides is the frame's, the other longer.
  if (width * view.height <= height * view.width)
    view.height = std::max(view.height, in_proportion(view.width, height, width));
  else
    view.width = std::max(view.width, in_proportion(view.height, width, height));
  view.window.top = centred(view.height, input.height);
  view.window.left = centred(view.width, input.width);
  return view;
}

PictureChanges draw_changes(const ImageAugmentOptions& options, const ImageInput& input, int64_t height,
                            int64_t width, uint64_t seed) {
  PictureChanges changes;
  changes.view = plain_view(input, height, width);
  if (options.crop) {
    Random draws(stream_seed(seed, "picture crop"));
    changes.view.part = draw_crop(
        height, width,
        {options.crop_min_area, options.crop_max_area, options.crop_min_ratio, options.crop_max_ratio},
        draws);
    changes.view.height = input.height;
    changes.view.width = input.width;
    changes.view.window = {0, 0, input.height, input.width};
  }
  changes.flip = Random(stream_seed(seed, "flip")).unit() < options.flip;
  if (options.jitter > 0) {
    Random draws(stream_seed(seed, "jitter"));
    changes.steps = draw_jitter(options.jitter, draws);
  }
  Random operations(stream_seed(seed, "operations"));
  for (const OperationStep& step : draw_operations(options, operations)) changes.steps.push_back(step);
  Random erasing(stream_seed(seed, "erase"));
  if (erasing.unit() < options.erase) {
    const BoxRange range = {options.erase_min_area, options.erase_max_area, options.erase_min_ratio,
                            1.0 / options.erase_min_ratio};
    changes.erased = draw_erase(input.height, input.width, range, erasing);
    changes.noise = stream_seed(seed, "erasing noise");
  }
  return changes;
}

Picture changed(const Picture& picture, const PictureChanges& changes, const Fill& fill) {
  Picture result = resampled(picture, changes.view);
  if (changes.flip) flip(result);
  for (const OperationStep& step : changes.steps) apply(result, step, fill);
  return result;
}

Fill fill_of(const ImageInput& input) {
  Fill fill{};
  for (int64_t channel = 0; channel < input.channels; ++channel)
    fill[static_cast<size_t>(channel)] =
        static_cast<uint8_t>(std::clamp(std::nearbyint(255.0 * input.mean_of(channel)), 0.0, 255.0));
  return fill;
}

void erase(std::span<float> values, int64_t width, int64_t channels, const Box& box,
           std::span<const float> noise, double limit) {
  const auto most = static_cast<float>(limit);
  const auto row = static_cast<size_t>(box.width * channels);
  for (int64_t y = 0; y < box.height; ++y) {
    float* to = values.data() + ((box.top + y) * width + box.left) * channels;
    for (const float value : noise.subspan(static_cast<size_t>(y) * row, row))
      *to++ = std::clamp(value, -most, most);
  }
}

std::vector<float> draw_noise(const Box& box, int64_t channels, uint64_t seed) {
  Random draws(seed);
  std::vector<float> noise(static_cast<size_t>(box.height * box.width * channels));
  for (float& value : noise) value = static_cast<float>(draw_normal(draws));
  return noise;
}

}  // namespace mega::data
