// Square patches of a picture as vectors.
#pragma once

#include <cstdint>
#include <span>

#include "mega/config/models/image_options.h"
#include "mega/infer/layers/linear.h"
#include "mega/infer/weight_file.h"
#include "mega/infer/workspace.h"
#include "mega/kernels/rows.h"

namespace mega::infer {

class PatchEmbedding {
 public:
  // Reads the tensors patch_embed.*.
  PatchEmbedding(WeightFile& file, const ImageOptions& options, int64_t patch, int64_t width);

  // The pixels of a picture, row by row, the channels of each together -> x (patches, D), in reading order.
  // What a patch lacks at the edge counts as 0, which adds nothing.
  void forward(std::span<const float> pixels, kernels::Rows x, const Run& run) const;

 private:
  void cut(const float* pixels, int64_t row, int64_t column, float* out) const;

  int64_t rows_, columns_, channels_, patch_;
  Grid grid_;
  Linear projection_;  // of a patch as its channels, each row by row
};

}  // namespace mega::infer
