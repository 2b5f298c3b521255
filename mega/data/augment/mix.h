// Mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019) of a whole batch: each example is mixed with the one
// that stands as far from the end as it from the beginning.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mega/base/random.h"
#include "mega/config/recipe/augment_options.h"
#include "mega/data/formats/picture.h"

namespace mega::data {

// Shapes of a batch of pictures: (size, height, width, channels).
struct PictureShape {
  int64_t height = 0, width = 0, channels = 0;

  int64_t values() const { return height * width * channels; }
};

// What is done to a batch.
struct Mix {
  double own = 1;  // the weight of an example's own class
  bool cut = false;
  Box box;  // cut: what is pasted from the other example
};

// x <- own x + (1 - own) other
Mix mixup(double own);
// The box has a share of 1 - own of the picture and this centre. Where it reaches beyond the picture it is
// cut, and the weight becomes what it really leaves.
Mix cutmix(double own, int64_t centre_y, int64_t centre_x, const PictureShape& shape);

// As options.mixup, cutmix, mix_probability and cutmix_share say.
Mix draw_mix(const ImageAugmentOptions& options, const PictureShape& shape, Random& draws);

void mix_pictures(std::span<float> values, const PictureShape& shape, const Mix& mix);

// (size, classes): the distributions over classes that stand for the labels.
std::vector<float> mix_labels(std::span<const int64_t> labels, int64_t classes, const Mix& mix);

}  // namespace mega::data
