// Normalisation in evaluation mode: batch norm uses the running statistics of training.
#pragma once

#include <string>
#include <vector>

#include "mega/config/models/layer_options.h"
#include "mega/infer/weight_file.h"
#include "mega/infer/workspace.h"
#include "mega/kernels/rows.h"

namespace mega::infer {

class Norm {
 public:
  Norm(WeightFile& file, const std::string& name, int64_t width, NormKind kind, bool affine);

  // y = norm(x) for `rows` rows; y may alias x.
  void forward(kernels::ConstRows x, kernels::Rows y, int64_t rows, const Run& run) const;

 private:
  int64_t width_;
  NormKind kind_;
  const float* weight_ = nullptr;  // null: not affine
  const float* bias_ = nullptr;
  std::vector<double> mean_, scale_, shift_;  // batch norm folded into mean, scale and shift
};

}  // namespace mega::infer
