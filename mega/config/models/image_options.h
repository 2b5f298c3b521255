// Models that read pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/models/classifier_options.h"
#include "mega/config/models/layer_options.h"

namespace mega {

// Patches of a picture, in rows and columns.
struct Grid {
  int64_t rows = 0, columns = 0;

  int64_t size() const { return rows * columns; }
  bool operator==(const Grid&) const = default;
};

// What all models have in common that read pictures of one size. A position is a pixel.
struct ImageOptions : PredictorOptions {
  int64_t image = 224;
  int64_t image_width = 0;
  int64_t channels = 3;

  ImageOptions() { classes = 1000; }

  int64_t rows() const { return image; }
  int64_t columns() const { return image_width > 0 ? image_width : image; }
  // Those at the right and at the lower edge may reach beyond the picture.
  Grid patches(int64_t patch) const {
    return {(rows() + patch - 1) / patch, (columns() + patch - 1) / patch};
  }

  // Those with positions; empty where there are none.
  virtual std::optional<Grid> patch_grid() const { return std::nullopt; }
  // Positions before those of the patches.
  virtual int64_t extra_tokens() const { return 0; }

  ModelTask task() const override { return ModelTask::image; }
  int64_t max_length() const override { return rows() * columns(); }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("image", self.image, "height of a picture in pixels, and its width unless image_width says so",
            Range{1, 1 << 16});
    v.field("image_width", self.image_width, "width of a picture in pixels; 0: as its height",
            Range{0, 1 << 16});
    v.field("channels", self.channels, "colours of a pixel", Range{1, 1024});
    v.field("objective", self.objective, "predict a class, or real numbers");
    v.field("classes", self.classes, "number of classes, or of real numbers to predict", kClasses);
  }
};

// How a patch becomes a vector. Both are the same product; they differ in how its weights begin.
enum class PatchForm { convolution, linear };

template <>
struct EnumNames<PatchForm> {
  static constexpr auto names =
      enum_table<PatchForm>({{PatchForm::convolution, "convolution"}, {PatchForm::linear, "linear"}});
};

// A block as the release for images has it.
inline BlockOptions image_block() {
  BlockOptions block;
  block.attention = AttentionFunction::laplace;
  block.prenorm = true;
  block.ema.shift = block.ema.exchanged = true;
  return block;
}

// The released VisionMEGA: a picture as a sequence of square patches in reading order.
struct ImageClassifierOptions : ImageOptions {
  static constexpr const char* kind = "image";
  int64_t patch = 16;
  PatchForm patch_form = PatchForm::convolution;
  bool positions = true;
  int64_t layers = 12;
  int64_t representation = 0;
  BlockOptions block = image_block();

  Grid grid() const { return patches(patch); }
  std::optional<Grid> patch_grid() const override { return grid(); }
  // Relative positions reach from one end of the sequence of patches to the other.
  StackOptions stack() const;

  bool runs_in_engine() const override { return true; }
  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    ImageOptions::visit(self, v);
    v.field("patch", self.patch, "height and width of a patch in pixels", Range{1, 1 << 16});
    v.field("patch_form", self.patch_form, "how a patch becomes a vector");
    v.field("positions", self.positions, "add a learned vector for each place of a patch");
    v.field("layers", self.layers, "number of blocks", kLayers);
    v.field("representation", self.representation, "width of a layer before the head; 0: none",
            Range{0, 1 << 20});
    v.nested("block", self.block, "each block; max_positions is the number of patches");
  }
};

// Patches of a picture of `length` pixels.
double patch_count(int64_t length, int64_t patch);

// The tensors patch_embed.* of a patch embedding.
void add_patch_tensors(TensorList& list, const ImageOptions& options, int64_t patch, PatchForm form,
                       int64_t width);

// Image models decay their matrices alone: marks biases, the scales of norms, and learned positions and
// tokens.
std::vector<TensorInfo> without_decay_of_vectors(std::vector<TensorInfo> tensors);

}  // namespace mega
