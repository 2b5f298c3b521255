// Some rows of a weight matrix as a matrix of their own: the output layer of a restricted vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mega/base/aligned.h"
#include "mega/infer/layers/linear.h"

namespace mega::infer {

class SelectedRows {
 public:
  // Copies the rows, in the given order; each must exist.
  SelectedRows(const kernels::Weights& all, std::span<const int32_t> rows);

  const Linear& linear() const { return linear_; }

 private:
  AlignedVector<std::byte> data_;
  std::vector<float> scales_;
  std::vector<int32_t> sums_;
  Linear linear_;
};

}  // namespace mega::infer
