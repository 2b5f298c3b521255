// The feed-forward sublayer with residual and norm: the released NormalizedFeedForwardNetwork.
#pragma once

#include "mega/config/models/layer_options.h"
#include "mega/nn/drop_path.h"
#include "mega/nn/norm.h"
#include "mega/ops/torch.h"

namespace mega::nn {

class FeedForwardImpl : public torch::nn::Module {
 public:
  explicit FeedForwardImpl(const BlockOptions& options);

  torch::Tensor forward(const torch::Tensor& x);  // (B, L, D) -> (B, L, D)

  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  SequenceNorm norm{nullptr};
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
  DropPath drop_path{nullptr};

 private:
  BlockOptions options_;
};
TORCH_MODULE(FeedForward);

}  // namespace mega::nn
