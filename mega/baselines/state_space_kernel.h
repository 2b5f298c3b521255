// The linear systems of a state space layer, one for each channel.
#pragma once

#include <memory>

#include "mega/config/models/s4_options.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

class StateSpaceKernel : public torch::nn::Module {
 public:
  // For ops::long_convolution: (D, length) each; `future` of a bidirectional layer alone.
  struct Kernels {
    torch::Tensor past, future;
  };
  virtual Kernels kernels(int64_t length) = 0;

  // The recurrence: x (B, L, D) continues the stream of a state (B, D, N), which is replaced; undefined: it
  // begins one. Not of a bidirectional layer.
  virtual torch::Tensor carry(const torch::Tensor& x, torch::Tensor& state) = 0;
};

// S4D's (s4d_kernel.cc), or S4's (s4_kernel.cc).
std::shared_ptr<StateSpaceKernel> make_kernel(const S4DLayerOptions& options);
std::shared_ptr<StateSpaceKernel> make_kernel(const S4LayerOptions& options);

// Shared by both: steps (D), uniform in logarithm at the start.
torch::Tensor positive_steps(const torch::Tensor& parameter, StepForm form);
void reset_steps(torch::Tensor& parameter, const StateSpaceOptions& options);
// Complex numbers of unit variance.
void reset_outputs(torch::Tensor& c);
// The systems (S, ...) that channels share, one for each channel: channel c has number c modulo S.
torch::Tensor of_channels(const torch::Tensor& systems, int64_t width);

}  // namespace mega::baselines
