// Square patches of pictures as vectors.
#pragma once

#include "mega/config/models/image_options.h"
#include "mega/ops/torch.h"

namespace mega::models {

class PatchEmbeddingImpl : public torch::nn::Module {
 public:
  PatchEmbeddingImpl(int64_t channels, int64_t patch, int64_t width, PatchForm form);

  // Pictures (B, channels, H, W) -> (B, L, D), in reading order. What a patch lacks at the edge counts as 0,
  // which adds nothing.
  torch::Tensor forward(const torch::Tensor& pictures);

  void reset_parameters();

 private:
  int64_t channels_, patch_, width_;
  PatchForm form_;
  torch::Tensor weight_, bias_;  // (D, channels, patch, patch) or (D, channels patch patch), and (D)
};
TORCH_MODULE(PatchEmbedding);

}  // namespace mega::models
