// Random changes to examples while a model learns from them. All are off by default.
#pragma once

#include "mega/base/options/options.h"
#include "mega/config/recipe/input_options.h"

namespace mega {

struct AugmentOptions {
  bool crop = false;
  double shift = 0.0;
  double noise = 0.0;
  double byte_dropout = 0.0;

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
  }
};

// Throws where an augmentation is on that does nothing to such input.
void check_augmentation(const AugmentOptions& options, const InputOptions& input);

}  // namespace mega
