#include "mega/nn/drop_path.h"

#include <algorithm>

namespace mega::nn {

using torch::Tensor;

Tensor DropPathImpl::draw(const Tensor& x) const {
  if (!is_training() || rate_ <= 0.0) return {};
  if (fixed.defined()) return fixed;
  // Drawn on the CPU, so that every device has the same factors.
  const Tensor kept = torch::rand({x.size(0)}) >= rate_;
  return kept.to(x.options()) * (rate_ < 1.0 ? 1.0 / (1.0 - rate_) : 0.0);
}

Tensor DropPathImpl::add(const Tensor& x, const Tensor& branch) const {
  const Tensor factors = draw(x);
  if (!factors.defined()) return x + branch;
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[0] = -1;
  return torch::addcmul(x, branch, factors.view(shape));
}

double drop_path_rate(double rate, int64_t index, int64_t count) {
  return rate * static_cast<double>(index) / static_cast<double>(std::max<int64_t>(1, count - 1));
}

}  // namespace mega::nn
