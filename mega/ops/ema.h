// The multi-dimensional damped EMA of section 3.1, with the released skip and activation.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

// The coefficients of the recurrence, each (kD, N), where k = 2 for a bidirectional EMA: first D
// backward-looking rows, then D forward-looking rows.
//   h_t = q h_{t-1} + b x_t,    s_t = sum_n c_n h_{t,n}     (equations 4 and 5)
struct EmaCoefficients {
  torch::Tensor q, b, c;
};

struct EmaSettings {
  bool bidirectional = false;
  int64_t truncation =
      0;  // T, keep only T lags of each direction; 0 keeps all. Ignored if a state is carried.
  bool activated = true;  // apply SiLU at the end
  int64_t pieces = 0;     // time pieces that the fused form runs in parallel; 0: by the number of threads
  bool shift = false;     // the forward-looking sums begin with x_{t+1}, not with x_t
  bool rounded = false;   // in bf16, keep x for the backward pass as stored_once() has it
};

// y = silu(s + omega x), where the sums s of both directions include x_t itself, unless `shift` is set. x (B,
// L, D); omega (D), or undefined for no skip; mask (B, L) bool with true = padding, or undefined. Padding
// enters the averages as 0 but still passes through the skip. A state (B, D, N) continues a stream
// (undefined: starts one) and is replaced by the state after x; gradients flow through it.
torch::Tensor ema(const torch::Tensor& x, const EmaCoefficients& coefficients, const torch::Tensor& omega,
                  const torch::Tensor& mask, const EmaSettings& settings, torch::Tensor* state = nullptr);

// The two reference forms: s (B, L, D) before skip and activation, for x without padding. `state` (B, D, N)
// is the state before x, or undefined if none is carried.
struct EmaSums {
  torch::Tensor sums;
  torch::Tensor state;  // (B, D, N) after x, if a state was passed
};
EmaSums ema_recurrence(const torch::Tensor& x, const EmaCoefficients& coefficients,
                       const EmaSettings& settings, const torch::Tensor& state = {});
EmaSums ema_convolution(const torch::Tensor& x, const EmaCoefficients& coefficients,
                        const EmaSettings& settings, const torch::Tensor& state = {});

}  // namespace mega::ops
