// ViT (Dosovitskiy et al. 2021) and DeiT (Touvron et al. 2021): Transformers on patches of pictures.
#pragma once

#include <vector>

#include "mega/config/models/transformer_options.h"
#include "mega/models/image_model.h"
#include "mega/models/patch_embedding.h"
#include "mega/nn/drop_path.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// x + attention(norm(x)), then x + feed-forward(norm(x)), with the parameter names of timm.
class VisionBlockImpl : public torch::nn::Module {
 public:
  VisionBlockImpl(const VisionTransformerOptions& options, double drop_path);

  torch::Tensor forward(const torch::Tensor& x);  // (B, L, D) -> (B, L, D)

  // Of the attention and of the feed-forward.
  nn::DropPath drop_path1, drop_path2;

 private:
  torch::Tensor attend(const torch::Tensor& x);
  torch::Tensor drop(const torch::Tensor& x);

  int64_t heads_;
  double dropout_;
  torch::nn::LayerNorm norm1_, norm2_;
  torch::nn::Linear qkv_, proj_, fc1_, fc2_;
};
TORCH_MODULE(VisionBlock);

class VisionTransformerImpl : public models::ImageModel {
 public:
  explicit VisionTransformerImpl(const VisionTransformerOptions& options);

  // The class token's answer; of a distilled model the mean of both tokens' answers.
  torch::Tensor forward(const torch::Tensor& pictures) override;

  // What each token says, (B, classes): the class token and, of a distilled model, the distillation token.
  std::vector<torch::Tensor> answers(const torch::Tensor& pictures);

  void reset_parameters();

  std::vector<VisionBlock> blocks;

 private:
  VisionTransformerOptions options_;
  torch::Tensor cls_token_, dist_token_, pos_embed_;  // (1, 1, D), (1, 1, D), (1, tokens, D)
  models::PatchEmbedding patch_embed_{nullptr};
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Linear pre_logits_{nullptr}, head_{nullptr}, head_dist_{nullptr};
};
TORCH_MODULE(VisionTransformer);

}  // namespace mega::baselines
