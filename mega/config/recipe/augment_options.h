// Random changes to examples while a model learns from them. All are off by default.
#pragma once

#include <cstdint>

#include "mega/base/options/options.h"
#include "mega/config/recipe/input_options.h"

namespace mega {

// Changes to pictures. DeiT's recipe for ImageNet is crop = true, flip = 0.5, operations = 2, erase = 0.25,
// mixup = 0.8, cutmix = 1 and repeats = 3.
struct ImageAugmentOptions {
  bool crop = false;
  double crop_min_area = 0.08;
  double crop_max_area = 1.0;
  double crop_min_ratio = 3.0 / 4.0;
  double crop_max_ratio = 4.0 / 3.0;
  double flip = 0.0;
  double jitter = 0.0;
  int64_t operations = 0;
  double magnitude = 9.0;
  double magnitude_deviation = 0.5;
  double operation_probability = 0.5;
  double erase = 0.0;
  double erase_min_area = 0.02;
  double erase_max_area = 1.0 / 3.0;
  double erase_min_ratio = 0.3;
  double erase_limit = 2.0;
  double mixup = 0.0;
  double cutmix = 0.0;
  double mix_probability = 1.0;
  double cutmix_share = 0.5;
  int64_t repeats = 1;

  bool mixes() const { return mixup > 0 || cutmix > 0; }
  bool is_on() const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("crop", self.crop,
            "random resized crop: a random part of the picture is scaled to the input's size");
    v.field("crop_min_area", self.crop_min_area, "smallest share of the area that a crop keeps",
            Range{1e-6, 1});
    v.field("crop_max_area", self.crop_max_area, "largest share", Range{1e-6, 1});
    v.field("crop_min_ratio", self.crop_min_ratio, "smallest width of a crop for its height",
            Range{1e-3, 1e3});
    v.field("crop_max_ratio", self.crop_max_ratio, "largest width", Range{1e-3, 1e3});
    v.field("flip", self.flip, "probability that left becomes right", Range{0, 1});
    v.field("jitter", self.jitter,
            "brightness, contrast and saturation change by up to this factor, up or down, in random order",
            Range{0, 1});
    v.field("operations", self.operations, "RandAugment: operations drawn for each picture; 0: none",
            Range{0, 100});
    v.field("magnitude", self.magnitude, "RandAugment: mean strength of an operation", Range{0, 10});
    v.field("magnitude_deviation", self.magnitude_deviation, "RandAugment: deviation of the strength",
            Range{0, 10});
    v.field("operation_probability", self.operation_probability,
            "RandAugment: probability that an operation that was drawn is applied", Range{0, 1});
    v.field("erase", self.erase, "probability that a random box is filled with noise", Range{0, 1});
    v.field("erase_min_area", self.erase_min_area, "smallest share of the picture that the box has",
            Range{1e-6, 1});
    v.field("erase_max_area", self.erase_max_area, "largest share", Range{1e-6, 1});
    v.field("erase_min_ratio", self.erase_min_ratio,
            "smallest ratio of the box's sides; the largest is its inverse", Range{1e-3, 1});
    v.field("erase_limit", self.erase_limit, "the noise, of deviation 1, is cut to plus or minus this",
            Range{0, 1e3});
    v.field("mixup", self.mixup,
            "parameter of the Beta distribution of weights with which the pictures of a batch and their "
            "classes are mixed; 0: no mixup",
            Range{0, 100});
    v.field("cutmix", self.cutmix,
            "the same for the share of a picture that a box of another one does not cover; 0: no CutMix",
            Range{0, 100});
    v.field("mix_probability", self.mix_probability, "probability that a batch is mixed", Range{0, 1});
    v.field("cutmix_share", self.cutmix_share, "share of CutMix where mixup is on, too", Range{0, 1});
    v.field("repeats", self.repeats,
            "repeated augmentation: an epoch sees 1 of so many pictures, each so many times", Range{1, 1000});
  }
};

struct AugmentOptions {
  bool crop = false;
  double shift = 0.0;
  double noise = 0.0;
  double byte_dropout = 0.0;
  ImageAugmentOptions image = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field(
        "crop", self.crop,
        "of a text, sound or series that is longer than what is read of it, read a random window, not the "
        "beginning");
    v.field(
        "shift", self.shift,
        "moves a sound or series in time, either way, by up to this share of its length; silence fills in",
        Range{0, 1});
    v.field("noise", self.noise,
            "deviation of Gaussian noise on a sound or series, as a share of the clip's own", Range{0, 1e3});
    v.field("byte_dropout", self.byte_dropout,
            "leaves out each byte of a text with this probability; one at least stays", Range{0, 1});
    v.nested("image", self.image, "changes to pictures");
  }
};

// Throws where an augmentation is on that does nothing to such input.
void check_augmentation(const AugmentOptions& options, const InputOptions& input);

}  // namespace mega
