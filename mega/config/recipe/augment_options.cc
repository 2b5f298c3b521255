#include "mega/config/recipe/augment_options.h"

#include "mega/base/error.h"

namespace mega {
namespace {

void check_image(const ImageAugmentOptions& options) {
  const auto check = [](const char* low_name, double low, const char* high_name, double high) {
    require(low <= high, "augment.image.", low_name, " = ", low, " is larger than augment.image.", high_name,
            " = ", high);
  };
  check("crop_min_area", options.crop_min_area, "crop_max_area", options.crop_max_area);
  check("crop_min_ratio", options.crop_min_ratio, "crop_max_ratio", options.crop_max_ratio);
  check("erase_min_area", options.erase_min_area, "erase_max_area", options.erase_max_area);
}

}  // namespace

bool ImageAugmentOptions::is_on() const {
  return crop || flip > 0 || jitter > 0 || operations > 0 || erase > 0 || mixes() || repeats > 1;
}

void check_augmentation(const AugmentOptions& options, const InputOptions& input) {
  const char* kind = std::visit([](const auto& one) { return one.kind; }, input.input);
  const bool text = std::holds_alternative<TextInput>(input.input);
  const bool signal =
      std::holds_alternative<AudioInput>(input.input) || std::holds_alternative<SeriesInput>(input.input);
  const auto check = [&](const char* name, bool on, bool possible, const char* where) {
    require(!on || possible, "augment.", name, ": is for input.kind = ", where, ", not for ", kind);
  };
  check("crop", options.crop, text || signal, "text, audio or series");
  check("shift", options.shift > 0, signal, "audio or series");
  check("noise", options.noise > 0, signal, "audio or series");
  check("byte_dropout", options.byte_dropout > 0, text, "text");
  check("image", options.image.is_on(), std::holds_alternative<ImageInput>(input.input), "image");
  check_image(options.image);
}

}  // namespace mega
