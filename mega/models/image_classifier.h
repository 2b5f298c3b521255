// The Mega classifier of pictures.
#pragma once

#include <memory>

#include "mega/config/models/image_options.h"
#include "mega/models/image_model.h"
#include "mega/models/patch_embedding.h"
#include "mega/nn/stack.h"
#include "mega/ops/torch.h"

namespace mega::models {

// The released VisionMEGA, with its parameter names: patches plus learned positions, blocks, and a layer with
// SiLU at every patch before their mean. There is no class token.
class ImageClassifierImpl : public ImageModel {
 public:
  explicit ImageClassifierImpl(const ImageClassifierOptions& options);

  torch::Tensor forward(const torch::Tensor& pictures) override { return head->forward(features(pictures)); }

  // What the head sees, (B, D) or (B, representation).
  torch::Tensor features(const torch::Tensor& pictures);

  void reset_parameters();

  torch::Tensor pos_embed;  // (1, patches, D); undefined without positions
  PatchEmbedding patch_embed{nullptr};
  torch::nn::Linear out_proj{nullptr}, pre_logits{nullptr}, head{nullptr};  // the second may be empty

 private:
  ImageClassifierOptions options_;
  std::unique_ptr<nn::MegaStack> stack_;
};
TORCH_MODULE(ImageClassifier);

}  // namespace mega::models
