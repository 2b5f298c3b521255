// The feed-forward of a block: the second line of equation 21.
#pragma once

#include <string>

#include "mega/config/models/layer_options.h"
#include "mega/infer/layers/linear.h"
#include "mega/infer/layers/norm.h"

namespace mega::infer {

class FeedForward {
 public:
  FeedForward(WeightFile& file, const std::string& name, const BlockOptions& options);

  // In place on x (rows, D).
  void forward(kernels::Rows x, int64_t rows, const Run& run) const;

 private:
  BlockOptions options_;
  Norm norm_;
  Linear first_, second_;
};

}  // namespace mega::infer
