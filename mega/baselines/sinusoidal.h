// Sinusoidal absolute positions (Vaswani et al. 2017), as in the released Transformer.
#pragma once

#include <mutex>

#include "mega/ops/torch.h"

namespace mega::baselines {

// For any length: the table does not depend on parameters, is cached, and grows by doubling.
class SinusoidalPositions {
 public:
  // `width` must be even and at least 4.
  explicit SinusoidalPositions(int64_t width) : width_(width) {}

  // (length, D): the positions added to tokens `first`, first + 1, ... of a sequence, in the dtype of
  // `options`.
  torch::Tensor rows(int64_t first, int64_t length, const torch::TensorOptions& options);

 private:
  int64_t width_;
  torch::Tensor table_;
  std::mutex mutex_;  // protects table_
};

}  // namespace mega::baselines
