// Residual networks of convolutions (He et al. 2016), as the paper compares with on pictures.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/config/models/image_options.h"

namespace mega {

// By default ResNet-152. Each stage but the first halves height and width, and has bottlenecks: 1 x 1, 3 x 3
// (of the stage's width) and 1 x 1 convolutions, of which the last is four times as wide.
struct ResNetOptions : ImageOptions {
  static constexpr const char* kind = "resnet";
  static constexpr int64_t kExpansion = 4;

  int64_t stem = 64;
  std::vector<int64_t> blocks = {3, 8, 36, 3};
  std::vector<int64_t> widths = {64, 128, 256, 512};

  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  bool match(const ModelKind& other) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    ImageOptions::visit(self, v);
    v.field("stem", self.stem, "width of the first convolution", kWidth);
    v.field("blocks", self.blocks, "bottlenecks of each stage", kLayers);
    v.field("widths", self.widths, "width of each stage's 3 x 3 convolutions; outputs are four times as wide",
            kWidth);
  }
};

}  // namespace mega
