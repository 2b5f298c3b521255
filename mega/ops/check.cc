#include "mega/ops/check.h"

#include <cmath>

#include "mega/base/error.h"

namespace mega::ops {

using torch::Tensor;

void check_sequence(const char* what, const Tensor& x, int64_t width, const Tensor& weight) {
  require(x.defined() && x.dim() == 3 && x.size(2) == width, what, ": expected (batch, length, ", width,
          "), got ", x.defined() ? x.sizes() : c10::IntArrayRef());
  require(x.size(0) > 0 && x.size(1) > 0, what, ": an empty input of shape ", x.sizes());
  require(x.scalar_type() == weight.scalar_type(), what, ": expected ", weight.scalar_type(),
          " like the parameters, got ", x.scalar_type());
  require(x.device() == weight.device(), what, ": the input is on ", x.device(), ", the parameters are on ",
          weight.device());
  // One sum detects any NaN or infinity with a single read.
  const double sum = x.detach().sum().item<double>();
  if (std::isfinite(sum)) return;
  const int64_t count =
      x.detach().isfinite().logical_not().sum().item<int64_t>();  // 0 if only the sum overflowed
  require(count == 0, what, ": the input holds NaN or infinite values (", count, " of ", x.numel(), ")");
}

void check_mask(const char* what, const Tensor& mask, int64_t batch, int64_t length) {
  if (!mask.defined()) return;
  require(mask.scalar_type() == torch::kBool, what, ": the mask must be boolean, true for padding, not ",
          mask.scalar_type());
  require(mask.dim() == 2 && mask.size(0) == batch && mask.size(1) == length, what, ": expected a mask of (",
          batch, ", ", length, "), got ", mask.sizes());
}

}  // namespace mega::ops
