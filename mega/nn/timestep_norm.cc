#include "mega/nn/timestep_norm.h"

#include "mega/base/error.h"
#include "mega/ops/timestep_norm.h"

namespace mega::nn {

using torch::Tensor;

TimestepNormImpl::TimestepNormImpl(int64_t width, int64_t groups, bool affine, int64_t prior_count)
    : width_(width), groups_(groups), prior_count_(prior_count) {
  require(groups > 0 && width % groups == 0, "a timestep norm of ", groups,
          " groups does not divide a width of ", width);
  if (affine) {
    weight = register_parameter("weight", torch::empty({width}));
    bias = register_parameter("bias", torch::empty({width}));
  }
  if (prior_count > 0) {
    prior_mean = register_parameter("prior_mean", torch::empty({groups}));
    prior_logv = register_parameter("prior_logv", torch::empty({groups}));
  }
  reset_parameters();
}

void TimestepNormImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  for (const Tensor& parameter : {weight, bias, prior_mean, prior_logv})
    if (parameter.defined()) parameter.zero_();
}

void TimestepNormImpl::pretty_print(std::ostream& stream) const {
  stream << "TimestepNorm(D=" << width_ << ", G=" << groups_ << ")";
}

Tensor TimestepNormImpl::forward(const Tensor& x, const Tensor& mask, Tensor* state) {
  require(x.dim() == 3 && x.size(2) == width_, "a timestep norm of width ", width_, " takes (batch, length, ",
          width_, "), not ", x.sizes());
  constexpr double kEpsilon = 1e-5;
  Tensor statistics = state == nullptr ? Tensor() : *state;
  if (!statistics.defined() && prior_count_ > 0) {
    const Tensor count =
        torch::full({1}, static_cast<double>(prior_count_), x.options().requires_grad(false));
    statistics = torch::cat({count, prior_mean, prior_logv.exp()}).expand({x.size(0), -1});
  }
  Tensor y = ops::timestep_norm(x, groups_, kEpsilon, mask, statistics);
  if (state != nullptr) *state = statistics;
  if (!weight.defined()) return y;
  y = y * (1 + weight) + bias;
  return mask.defined() ? y.masked_fill(mask.unsqueeze(-1), 0.0) : y;
}

}  // namespace mega::nn
