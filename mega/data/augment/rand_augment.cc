#include "mega/data/augment/rand_augment.h"

#include <algorithm>
#include <utility>

#include "mega/data/augment/draws.h"
#include "mega/data/augment/picture_colour.h"

namespace mega::data {
namespace {

double whole(double value) { return static_cast<double>(static_cast<int64_t>(value)); }

}  // namespace

bool has_sign(PictureOperation operation) {
  switch (operation) {
    case PictureOperation::auto_contrast:
    case PictureOperation::equalize:
    case PictureOperation::invert:
    case PictureOperation::posterize:
    case PictureOperation::solarize:
    case PictureOperation::solarize_add:
      return false;
    default:
      return true;
  }
}

double operation_argument(PictureOperation operation, double magnitude, bool negative) {
  const double level = magnitude / 10.0, sign = negative ? -1.0 : 1.0;
  switch (operation) {
    case PictureOperation::auto_contrast:
    case PictureOperation::equalize:
    case PictureOperation::invert:
      return 0;
    case PictureOperation::rotate:
      return sign * (level * 30.0);
    case PictureOperation::posterize:
      return 4 - whole(level * 4);
    case PictureOperation::solarize:
      return 256 - whole(level * 256);
    case PictureOperation::solarize_add:
      return whole(level * 110);
    case PictureOperation::saturation:
    case PictureOperation::contrast:
    case PictureOperation::brightness:
    case PictureOperation::sharpness:
      return std::max(0.1, 1.0 + sign * (level * 0.9));
    case PictureOperation::shear_x:
    case PictureOperation::shear_y:
      return sign * (level * 0.3);
    case PictureOperation::translate_x:
    case PictureOperation::translate_y:
      break;
  }
  return sign * (level * 0.45);
}

void apply(Picture& picture, const OperationStep& step, const Fill& fill) {
  const double argument = step.argument;
  const auto move = [&](const Affine& map) { picture = transformed(picture, map, fill); };
  switch (step.operation) {
    case PictureOperation::auto_contrast:
      return auto_contrast(picture);
    case PictureOperation::equalize:
      return equalize(picture);
    case PictureOperation::invert:
      return invert(picture);
    case PictureOperation::rotate:
      if (argument != 0) move(rotation(argument, picture.height, picture.width));
      return;
    case PictureOperation::posterize:
      return posterize(picture, static_cast<int>(argument));
    case PictureOperation::solarize:
      return solarize(picture, static_cast<int>(argument));
    case PictureOperation::solarize_add:
      return solarize_add(picture, static_cast<int>(argument));
    case PictureOperation::saturation:
      return change_saturation(picture, argument);
    case PictureOperation::contrast:
      return change_contrast(picture, argument);
    case PictureOperation::brightness:
      return change_brightness(picture, argument);
    case PictureOperation::sharpness:
      return change_sharpness(picture, argument);
    case PictureOperation::shear_x:
      return move(shear_x(argument));
    case PictureOperation::shear_y:
      return move(shear_y(argument));
    case PictureOperation::translate_x:
      return move(translate_x(argument * static_cast<double>(picture.width)));
    case PictureOperation::translate_y:
      return move(translate_y(argument * static_cast<double>(picture.height)));
  }
}

std::vector<OperationStep> draw_operations(const ImageAugmentOptions& options, Random& draws) {
  std::vector<OperationStep> steps;
  for (int64_t i = 0; i < options.operations; ++i) {
    const auto operation = static_cast<PictureOperation>(draws.below(kPictureOperations));
    const bool applied = draws.unit() < options.operation_probability;
    const double drawn = options.magnitude + options.magnitude_deviation * draw_normal(draws);
    const bool negative = draws.unit() < 0.5;
    if (applied)
      steps.push_back({operation, operation_argument(operation, std::clamp(drawn, 0.0, 10.0), negative)});
  }
  return steps;
}

std::vector<OperationStep> draw_jitter(double strength, Random& draws) {
  std::vector<OperationStep> steps;
  for (const PictureOperation operation :
       {PictureOperation::brightness, PictureOperation::contrast, PictureOperation::saturation})
    steps.push_back({operation, draw_uniform(draws, 1.0 - strength, 1.0 + strength)});
  for (size_t i = steps.size(); i > 1; --i)
    std::swap(steps[i - 1], steps[static_cast<size_t>(draws.below(static_cast<int64_t>(i)))]);
  return steps;
}

}  // namespace mega::data
