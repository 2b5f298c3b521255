// The moving average of section 3.1 as a module: the released MultiHeadEMA and the paper's simpler ones.
#pragma once

#include "mega/config/layer_options.h"
#include "mega/ops/ema.h"
#include "mega/ops/torch.h"

namespace mega::nn {

// Parameters have the released names, in which alpha and delta stand the other way round than in the paper:
//   here      paper
//   delta     alpha  (logit), weight of the input
//   alpha     delta  (logit), damping
//   beta      beta,  expansion to N averages
//   gamma     eta,   projection back to one value
//   omega     -      learned skip (not in the paper)
// `plain` (equation 2) has delta alone and `damped` (equation 3) delta and alpha, both with N = 1; omega is
// there if options.skip. With dimension 0 there are no parameters, and the output is the input.
class EmaImpl : public torch::nn::Module {
 public:
  EmaImpl(int64_t width, const EmaOptions& options);

  // x (B, L, D), mask (B, L) bool with true = padding -> (B, L, D). With a state (B, D, N) x continues the
  // stream it came from, see ops::ema.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask = {},
                        torch::Tensor* state = nullptr);

  // The same before the activation, for those that activate it themselves.
  torch::Tensor sums(const torch::Tensor& x, const torch::Tensor& mask = {}, torch::Tensor* state = nullptr);

  // The state of a stream that has not begun, (B, D, N).
  torch::Tensor initial_state(int64_t batch) const;

  // What the parameters mean to the recurrence.
  ops::EmaCoefficients coefficients() const;

  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  const EmaOptions& options() const { return options_; }
  torch::Tensor delta, alpha, beta;  // (kD, N, 1), k = 2 if bidirectional
  torch::Tensor gamma;               // (kD, N)
  torch::Tensor omega;               // (D)

 private:
  torch::Tensor run(const torch::Tensor& x, const torch::Tensor& mask, torch::Tensor* state, bool activated);

  int64_t width_;
  EmaOptions options_;
};
TORCH_MODULE(Ema);

}  // namespace mega::nn
