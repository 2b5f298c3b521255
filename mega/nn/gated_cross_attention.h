// Gated attention of a target to a source: the decoder's second sublayer.
#pragma once

#include "mega/config/models/layer_options.h"
#include "mega/nn/norm.h"
#include "mega/nn/position.h"
#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::nn {

// The released GatedCrossAttention, with its parameter names: norm, k_proj, v_proj, q_proj, h_proj,
// rel_pos_bias. Never chunked, never causal; options.max_positions covers the longer of source and target.
class GatedCrossAttentionImpl : public torch::nn::Module {
 public:
  explicit GatedCrossAttentionImpl(const BlockOptions& options);

  // query (B, T, D), source (B, K, D), mask (B, K) bool with true = padding of the source -> (B, T, D). With
  // a state, queries continue the stream; only the first call reads source and mask.
  torch::Tensor forward(const torch::Tensor& query, const torch::Tensor& source,
                        const torch::Tensor& mask = {}, CrossAttentionState* state = nullptr);

  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  SequenceNorm norm{nullptr};
  torch::nn::Linear k_proj{nullptr}, v_proj{nullptr}, q_proj{nullptr}, h_proj{nullptr};
  std::shared_ptr<PositionImpl> rel_pos_bias;

 private:
  torch::Tensor drop(const torch::Tensor& x, double rate);

  BlockOptions options_;
};
TORCH_MODULE(GatedCrossAttention);

}  // namespace mega::nn
