// Residual networks of convolutions (He et al. 2016).
#pragma once

#include <vector>

#include "mega/config/models/resnet_options.h"
#include "mega/models/image_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// 1 x 1, 3 x 3 (with the stride) and 1 x 1 convolutions, each with a batch norm, around a shortcut, which is
// a convolution itself where the shape changes.
class BottleneckImpl : public torch::nn::Module {
 public:
  BottleneckImpl(int64_t inputs, int64_t width, int64_t stride, bool first);

  torch::Tensor forward(const torch::Tensor& x);  // (B, inputs, H, W) -> (B, 4 width, H / stride, W / stride)

 private:
  torch::nn::Conv2d conv1_, conv2_, conv3_;
  torch::nn::BatchNorm2d bn1_, bn2_, bn3_;
  torch::nn::Sequential downsample_{nullptr};  // empty unless first
};
TORCH_MODULE(Bottleneck);

// With the parameter names of timm and torchvision.
class ResNetImpl : public models::ImageModel {
 public:
  explicit ResNetImpl(const ResNetOptions& options);

  torch::Tensor forward(const torch::Tensor& pictures) override { return fc->forward(features(pictures)); }

  torch::Tensor features(const torch::Tensor& pictures);  // (B, widest)

  // Kaiming's normal weights by fan-out; the last norm of each bottleneck begins with 0, so that a block
  // begins as its shortcut.
  void reset_parameters();

  torch::nn::Linear fc{nullptr};

 private:
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  std::vector<Bottleneck> blocks_;
};
TORCH_MODULE(ResNet);

}  // namespace mega::baselines
