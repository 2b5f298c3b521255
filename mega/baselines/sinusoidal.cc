#include "mega/baselines/sinusoidal.h"

#include <algorithm>
#include <cmath>

namespace mega::baselines {

using torch::Tensor;

Tensor sinusoids(const Tensor& positions, int64_t width, const SinusoidForm& form) {
  const int64_t half = width / 2;
  const Tensor k = torch::arange(half, torch::kFloat64);
  const double last = static_cast<double>(form.ends_at_10000 ? half - 1 : half);
  const Tensor frequencies = torch::exp(k * (-std::log(10000.0) / last));
  // In double, as angles grow with the length.
  const Tensor angles = positions.to(torch::kFloat64).unsqueeze(1) * frequencies;
  const Tensor sines = torch::sin(angles), cosines = torch::cos(angles);
  return form.interleaved ? torch::stack({sines, cosines}, 2).flatten(1) : torch::cat({sines, cosines}, 1);
}

Tensor SinusoidalPositions::make_table(int64_t length) const {
  const int64_t first = form_.first_position;
  return sinusoids(torch::arange(first, first + length, torch::kFloat64), width_, form_);
}

Tensor SinusoidalPositions::rows(int64_t first, int64_t length, const torch::TensorOptions& options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t known = table_.defined() ? table_.size(0) : 0, end = first + length;
  if (end > known || table_.dtype() != options.dtype() || table_.device() != options.device())
    table_ = make_table(end > known ? std::max(end, 2 * known) : known).to(options);
  return table_.narrow(0, first, length);
}

}  // namespace mega::baselines
