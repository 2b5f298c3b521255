// Megalodon's timestep norm as a module.
#pragma once

#include "mega/ops/torch.h"

namespace mega::nn {

// ops::timestep_norm times 1 + weight, plus bias. With a prior, a stream begins as if `prior_count` positions
// of learned statistics had been seen. The count in a state is a float: after 2^24 positions it stays, and
// the statistics become an average of the last that many.
class TimestepNormImpl : public torch::nn::Module {
 public:
  TimestepNormImpl(int64_t width, int64_t groups, bool affine = true, int64_t prior_count = 0);

  // x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D). With a state (B, 2 G + 1),
  // x continues its stream.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask = {},
                        torch::Tensor* state = nullptr);

  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  torch::Tensor weight, bias;            // (D)
  torch::Tensor prior_mean, prior_logv;  // (G)

 private:
  int64_t width_, groups_, prior_count_;
};
TORCH_MODULE(TimestepNorm);

}  // namespace mega::nn
