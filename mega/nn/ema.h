// The moving average of section 3.1 as a module: the released MultiHeadEMA and the paper's simpler ones.
#pragma once

#include "mega/config/models/layer_options.h"
#include "mega/ops/ema.h"
#include "mega/ops/state_space.h"
#include "mega/ops/torch.h"

namespace mega::nn {

// Parameters have the released names, which swap alpha and delta compared with the paper:
//   here      paper
//   delta     alpha  (logit), weight of the input
//   alpha     delta  (logit), damping
//   beta      beta,  expansion to N averages
//   gamma     eta,   projection back to one value
//   omega     -      learned skip (not in the paper)
// With options.exchanged they are the paper's, as in the release for images. Of a complex average
// (Megalodon's) alpha weighs the input, delta damps, theta turns, gamma is complex, and there is no beta.
// `plain` (equation 2) has only delta, `damped` (equation 3) delta and alpha, both with N = 1; omega exists
// if options.skip. With dimension 0 there are no parameters and the output is the input.
class EmaImpl : public torch::nn::Module {
 public:
  EmaImpl(int64_t width, const EmaOptions& options);

  // x (B, L, D), mask (B, L) bool with true = padding -> (B, L, D). With a state (B, D, N), x continues its
  // stream, see ops::ema.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask = {},
                        torch::Tensor* state = nullptr);

  // The same without the activation, for callers that fuse it into the next operation. `rounded` as in
  // ops::EmaSettings.
  torch::Tensor sums(const torch::Tensor& x, const torch::Tensor& mask = {}, torch::Tensor* state = nullptr,
                     bool rounded = false);

  // The state at the start of a stream, (B, D, N); of a complex average (B, D, 2 N).
  torch::Tensor initial_state(int64_t batch) const;

  // The recurrence's coefficients, computed from the parameters; of a complex average the second.
  ops::EmaCoefficients coefficients() const;
  ops::DiagonalSystem complex_coefficients() const;

  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  const EmaOptions& options() const { return options_; }
  torch::Tensor delta, alpha, beta;  // (kD, N, 1), k = 2 if bidirectional
  torch::Tensor gamma;               // (kD, N), or (kD, N, 2) of a complex average
  torch::Tensor theta;               // (kD, 1, 1), of a complex average
  torch::Tensor omega;               // (D)

 private:
  torch::Tensor run(const torch::Tensor& x, const torch::Tensor& mask, torch::Tensor* state, bool activated,
                    bool rounded);

  int64_t width_;
  EmaOptions options_;
};
TORCH_MODULE(Ema);

}  // namespace mega::nn
