// Operations on pictures, and which of them RandAugment applies (Cubuk et al. 2020) in timm's form with its
// "increasing" set, as DeiT uses it.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/random.h"
#include "mega/config/recipe/augment_options.h"
#include "mega/data/augment/picture_geometry.h"
#include "mega/data/formats/picture.h"

namespace mega::data {

enum class PictureOperation {
  auto_contrast,
  equalize,
  invert,
  rotate,
  posterize,
  solarize,
  solarize_add,
  saturation,
  contrast,
  brightness,
  sharpness,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
};
inline constexpr int64_t kPictureOperations = 15;

// An operation and how strong it is, in its own unit: degrees, bits, a threshold, what is added, a factor, a
// share of the side.
struct OperationStep {
  PictureOperation operation = PictureOperation::invert;
  double argument = 0;
};

// Whether a draw decides the direction.
bool has_sign(PictureOperation operation);

// The argument of an operation at a magnitude of 0 to 10.
double operation_argument(PictureOperation operation, double magnitude, bool negative);

void apply(Picture& picture, const OperationStep& step, const Fill& fill);

// RandAugment: the operations that are applied, in order.
std::vector<OperationStep> draw_operations(const ImageAugmentOptions& options, Random& draws);

// Colour jitter: brightness, contrast and saturation, each by a factor around 1, in random order.
std::vector<OperationStep> draw_jitter(double strength, Random& draws);

}  // namespace mega::data
