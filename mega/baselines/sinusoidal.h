// Absolute positions as sines and cosines (Vaswani et al. 2017), as the released Transformer has them.
#pragma once

#include <mutex>

#include "mega/ops/torch.h"

namespace mega::baselines {

// Any length: the table depends on no parameter, is kept, and grows by doubling.
class SinusoidalPositions {
 public:
  // An even width of at least 4.
  explicit SinusoidalPositions(int64_t width) : width_(width) {}

  // (length, D): what is added to tokens `first`, first + 1, ... of a sequence, in the type of the options.
  torch::Tensor rows(int64_t first, int64_t length, const torch::TensorOptions& options);

 private:
  int64_t width_;
  torch::Tensor table_;
  std::mutex mutex_;  // of table_
};

}  // namespace mega::baselines
