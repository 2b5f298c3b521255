#include "mega/baselines/sinusoidal.h"

#include <algorithm>
#include <cmath>

namespace mega::baselines {
namespace {

using torch::Tensor;

// As in fairseq, positions start after the index of the padding token, 1.
constexpr int64_t kFirstPosition = 2;

// [sin | cos] of position * 10000^(-k / (D/2 - 1)), k = 0 .. D/2-1: (length, D), computed in double, as
// angles grow with the length.
Tensor make_table(int64_t length, int64_t width) {
  const int64_t half = width / 2;
  const Tensor k = torch::arange(half, torch::kFloat64);
  const Tensor frequencies = torch::exp(k * (-std::log(10000.0) / static_cast<double>(half - 1)));
  const Tensor positions = torch::arange(kFirstPosition, kFirstPosition + length, torch::kFloat64);
  const Tensor angles = positions.unsqueeze(1) * frequencies;
  return torch::cat({torch::sin(angles), torch::cos(angles)}, 1);
}

}  // namespace

Tensor SinusoidalPositions::rows(int64_t first, int64_t length, const torch::TensorOptions& options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t known = table_.defined() ? table_.size(0) : 0, end = first + length;
  if (end > known || table_.dtype() != options.dtype() || table_.device() != options.device())
    table_ = make_table(end > known ? std::max(end, 2 * known) : known, width_).to(options);
  return table_.narrow(0, first, length);
}

}  // namespace mega::baselines
