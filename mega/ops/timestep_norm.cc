#include "mega/ops/timestep_norm.h"

#include "mega/base/error.h"

namespace mega::ops {

using torch::Tensor;

// Sums over time, in double: the variance is a difference of second moments.
Tensor timestep_norm(const Tensor& x, int64_t groups, double epsilon, const Tensor& mask, Tensor& state) {
  require(x.dim() == 3 && x.size(2) % groups == 0, "a timestep norm of ", groups,
          " groups takes (batch, length, a multiple of it), not ", x.sizes());
  const int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
  if (!state.defined()) state = x.new_zeros({batch, 2 * groups + 1});
  require(
      state.sizes() == torch::IntArrayRef({batch, 2 * groups + 1}) && state.scalar_type() == x.scalar_type(),
      "the state of a timestep norm must be (", batch, ", ", 2 * groups + 1, ") of ", x.scalar_type(),
      ", not ", state.sizes(), " of ", state.scalar_type());
  const Tensor before = state.to(torch::kDouble).unsqueeze(1);  // (B, 1, 2 G + 1)
  const Tensor count = before.narrow(2, 0, 1), mean = before.narrow(2, 1, groups),
               variance = before.narrow(2, 1 + groups, groups);

  const Tensor grouped = x.reshape({batch, length, groups, width / groups}),
               wide = grouped.to(torch::kDouble);
  const Tensor own = wide.mean(-1), own_variance = (wide - own.unsqueeze(-1)).square().mean(-1);
  const Tensor kept = mask.defined() ? mask.logical_not().to(torch::kDouble).unsqueeze(-1)
                                     : torch::ones({batch, length, 1}, wide.options().requires_grad(false));
  const Tensor counts = count + kept.cumsum(1), divisor = counts.clamp_min(1.0);
  const Tensor means = (count * mean + (kept * own).cumsum(1)) / divisor;
  const Tensor seconds =
      (count * (variance + mean.square()) + (kept * (own_variance + own.square())).cumsum(1)) / divisor;
  const Tensor variances = (seconds - means.square()).clamp_min(0.0);

  const auto type = x.scalar_type();
  const Tensor scale = torch::rsqrt(variances + epsilon).to(type).unsqueeze(-1);
  Tensor y = ((grouped - means.to(type).unsqueeze(-1)) * scale).view_as(x);
  if (mask.defined()) y = y.masked_fill(mask.unsqueeze(-1), 0.0);

  // Before the first position that counts, the state stays as it is.
  const auto last = [&](const Tensor& t, const Tensor& otherwise) {
    return torch::where(counts.select(1, length - 1) > 0, t.select(1, length - 1), otherwise.squeeze(1));
  };
  state =
      torch::cat({counts.select(1, length - 1), last(means, mean), last(variances, variance)}, 1).to(type);
  return y;
}

}  // namespace mega::ops
