// One layer of S4 or S4D.
#pragma once

#include <memory>

#include "mega/baselines/state_space_kernel.h"
#include "mega/config/models/s4_options.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// y = K * x + D x, an activation, and a map that mixes channels, gated or not.
class S4LayerImpl : public torch::nn::Module {
 public:
  S4LayerImpl(const StateSpaceOptions& options, std::shared_ptr<StateSpaceKernel> kernel);

  // x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D). Padding counts as 0 but has
  // an output. With a state, which a bidirectional layer cannot have, x continues its stream.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask, torch::Tensor* state = nullptr);

 private:
  torch::Tensor filtered(const torch::Tensor& x, const torch::Tensor& mask, torch::Tensor* state);

  StateSpaceOptions options_;
  std::shared_ptr<StateSpaceKernel> kernel_;
  torch::Tensor skip_;  // D, (1, D)
  torch::nn::Linear output_{nullptr};
};
TORCH_MODULE(S4Layer);

}  // namespace mega::baselines
