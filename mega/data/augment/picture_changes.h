// What happens to one picture on its way into a model: drawn first, done then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mega/config/recipe/augment_options.h"
#include "mega/config/recipe/input_options.h"
#include "mega/data/augment/picture_geometry.h"
#include "mega/data/augment/rand_augment.h"
#include "mega/data/formats/resample.h"

namespace mega::data {

struct PictureChanges {
  Resampling view;  // the part that is seen, scaled to the input's size
  bool flip = false;
  std::vector<OperationStep> steps;
  std::optional<Box> erased;  // of the numbers the model reads
  uint64_t noise = 0;         // seed of what fills it
};

// Of a picture of this size, what a model sees in evaluation: all of it, or its centre (input.crop), as
// published for ImageNet.
Resampling plain_view(const ImageInput& input, int64_t height, int64_t width);

// A function of its arguments alone. Each kind of change has a stream of its own: turning one on does not
// move the others.
PictureChanges draw_changes(const ImageAugmentOptions& options, const ImageInput& input, int64_t height,
                            int64_t width, uint64_t seed);

// All but the erased box. The picture has as many channels as the input.
Picture changed(const Picture& picture, const PictureChanges& changes, const Fill& fill);

// The mean colour.
Fill fill_of(const ImageInput& input);

// Puts the noise, cut to plus or minus `limit`, into a box of (rows, width, channels) values. The noise has
// the box's own shape.
void erase(std::span<float> values, int64_t width, int64_t channels, const Box& box,
           std::span<const float> noise, double limit);
// Normal draws.
std::vector<float> draw_noise(const Box& box, int64_t channels, uint64_t seed);

}  // namespace mega::data
