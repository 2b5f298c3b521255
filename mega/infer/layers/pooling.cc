#include "mega/infer/layers/pooling.h"

#include <cstddef>
#include <vector>

namespace mega::infer {

void mean_of_rows(kernels::ConstRows x, int64_t rows, int64_t width, float* out) {
  std::vector<double> sums(static_cast<size_t>(width));
  for (int64_t row = 0; row < rows; ++row)
    for (size_t c = 0; c < sums.size(); ++c) sums[c] += static_cast<double>(x[row][c]);
  for (size_t c = 0; c < sums.size(); ++c) out[c] = static_cast<float>(sums[c] / static_cast<double>(rows));
}

}  // namespace mega::infer
