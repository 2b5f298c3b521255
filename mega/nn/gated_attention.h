// The gated attention unit with moving average: the paper's Mega layer (section 3.2).
#pragma once

#include "mega/config/models/layer_options.h"
#include "mega/nn/drop_path.h"
#include "mega/nn/ema.h"
#include "mega/nn/norm.h"
#include "mega/nn/position.h"
#include "mega/nn/state.h"
#include "mega/nn/timestep_norm.h"
#include "mega/ops/torch.h"

namespace mega::nn {

// The released MovingAverageGatedAttention, with its parameter names: norm, move, v_proj, mx_proj, h_proj,
// gamma, beta, rel_pos_bias. Includes residual and norm, so it replaces "attention + add + norm".
class GatedAttentionImpl : public torch::nn::Module {
 public:
  explicit GatedAttentionImpl(const BlockOptions& options);

  // x (B, L, D), mask (B, L) bool with true = padding -> (B, L, D). With a state, x continues its stream with
  // a segment of any length, or one step. A state needs a causal layer with a unidirectional EMA.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask = {},
                        GatedAttentionState* state = nullptr);

  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  const BlockOptions& options() const { return options_; }
  SequenceNorm norm{nullptr};
  TimestepNorm timestep_norm{nullptr};  // instead, with norm = timestep
  Ema move{nullptr};                    // empty with ema.dimension = 0
  torch::nn::Linear v_proj{nullptr}, mx_proj{nullptr}, h_proj{nullptr};
  torch::Tensor gamma, beta;  // (2, Z)
  std::shared_ptr<PositionImpl> rel_pos_bias;
  DropPath drop_path{nullptr};

 private:
  torch::Tensor normalized(const torch::Tensor& x, const torch::Tensor& mask, GatedAttentionState* state);
  torch::Tensor drop(const torch::Tensor& x, double rate);
  void check_state(const GatedAttentionState& state, int64_t batch) const;
  bool can_fuse(const torch::Tensor& x, const torch::Tensor& mask, const GatedAttentionState* state) const;
  torch::Tensor fused(const torch::Tensor& x, const torch::Tensor& input, const torch::Tensor& sums,
                      const torch::Tensor& mask);
  torch::Tensor composed(const torch::Tensor& x, const torch::Tensor& input, const torch::Tensor& sums,
                         const torch::Tensor& mask, GatedAttentionState* state);
  torch::Tensor attend(torch::Tensor q, torch::Tensor k, const torch::Tensor& v, const torch::Tensor& mask,
                       GatedAttentionState* state);
  ops::RelativeBias relative_bias(int64_t length);

  BlockOptions options_;
  Activation average_;  // applied to the moving average
};
TORCH_MODULE(GatedAttention);

}  // namespace mega::nn
