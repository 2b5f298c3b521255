// One block: gated attention, gated cross-attention (decoder only), feed-forward (section 3.4).
#pragma once

#include "mega/config/models/layer_options.h"
#include "mega/nn/feed_forward.h"
#include "mega/nn/gated_attention.h"
#include "mega/nn/gated_cross_attention.h"
#include "mega/nn/norm.h"
#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::nn {

class MegaBlockImpl : public torch::nn::Module {
 public:
  explicit MegaBlockImpl(const BlockOptions& options, bool cross_attention = false);

  // x (B, L, D), mask (B, L) bool with true = padding -> (B, L, D); state as in GatedAttention.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask = {}, BlockState* state = nullptr);

  // For a decoder: source (B, K, D), source_mask (B, K).
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask, const torch::Tensor& source,
                        const torch::Tensor& source_mask, BlockState* state = nullptr);

  // All processes skip the same blocks, as they must where batch norms within share their statistics.
  void set_communicator(std::shared_ptr<Communicator> communicator) {
    communicator_ = std::move(communicator);
  }

  void pretty_print(std::ostream& stream) const override { stream << "MegaBlock"; }

  GatedAttention mega_layer{nullptr};
  GatedCrossAttention cross_attn{nullptr};  // empty unless cross_attention
  FeedForward nffn{nullptr};                // empty with hidden = 0

 private:
  bool skipped() const;

  BlockOptions options_;
  std::shared_ptr<Communicator> communicator_;
};
TORCH_MODULE(MegaBlock);

}  // namespace mega::nn
