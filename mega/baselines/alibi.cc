#include "mega/baselines/alibi.h"

#include <bit>
#include <cmath>

namespace mega::baselines {

std::vector<double> alibi_slopes(int64_t heads) {
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  const double step = -8.0 / static_cast<double>(power);
  std::vector<double> slopes;
  for (int64_t h = 0; h < heads; ++h) {
    // The exponents of the larger power of two lie halfway between those of the smaller.
    const double place = h < power ? static_cast<double>(h + 1) : static_cast<double>(h - power) + 0.5;
    slopes.push_back(std::exp2(step * place));
  }
  return slopes;
}

ops::RelativeBias alibi_bias(int64_t heads, int64_t length, const torch::TensorOptions& options) {
  const torch::Tensor slopes = torch::tensor(alibi_slopes(heads), options).unsqueeze(1);
  const torch::Tensor offsets = torch::arange(1 - length, 1, options);
  return {slopes * offsets, 1 - length};
}

}  // namespace mega::baselines
