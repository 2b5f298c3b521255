// Classifiers of images.
#pragma once

#include <cstdint>

#include "mega/base/options/options.h"
#include "mega/config/models/classifier_options.h"
#include "mega/config/models/layer_options.h"

namespace mega {

// An image as a sequence of square patches.
struct ImageClassifierOptions : ModelKind {
  static constexpr const char* kind = "image";
  int64_t image = 224;
  int64_t patch = 16;
  int64_t channels = 3;
  int64_t classes = 1000;
  int64_t layers = 12;
  Pooling pooling = Pooling::mean;
  BlockOptions block;

  ModelTask task() const override { return ModelTask::image; }
  bool is_available() const override { return false; }
  void check() const override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("image", self.image, "height and width of the image in pixels", Range{1, 1 << 16});
    v.field("patch", self.patch, "height and width of a patch in pixels", Range{1, 1 << 16});
    v.field("channels", self.channels, "colours of a pixel", Range{1, 1024});
    v.field("classes", self.classes, "number of classes", kClasses);
    v.field("layers", self.layers, "number of blocks", kLayers);
    v.field("pooling", self.pooling, "what stands for the whole image");
    v.nested("block", self.block, "each block");
  }
};

}  // namespace mega
