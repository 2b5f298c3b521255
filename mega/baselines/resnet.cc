#include "mega/baselines/resnet.h"

#include <string>

namespace mega::baselines {
namespace {

using torch::Tensor;

torch::nn::Conv2d convolution(int64_t inputs, int64_t outputs, int64_t kernel, int64_t stride = 1) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(inputs, outputs, kernel).stride(stride).padding(kernel / 2).bias(false));
}

}  // namespace

BottleneckImpl::BottleneckImpl(int64_t inputs, int64_t width, int64_t stride, bool first)
    : conv1_(convolution(inputs, width, 1)),
      conv2_(convolution(width, width, 3, stride)),
      conv3_(convolution(width, ResNetOptions::kExpansion * width, 1)),
      bn1_(width),
      bn2_(width),
      bn3_(ResNetOptions::kExpansion * width) {
  register_module("conv1", conv1_);
  register_module("bn1", bn1_);
  register_module("conv2", conv2_);
  register_module("bn2", bn2_);
  register_module("conv3", conv3_);
  register_module("bn3", bn3_);
  if (!first) return;
  const int64_t outputs = ResNetOptions::kExpansion * width;
  downsample_ = register_module("downsample", torch::nn::Sequential(convolution(inputs, outputs, 1, stride),
                                                                    torch::nn::BatchNorm2d(outputs)));
}

Tensor BottleneckImpl::forward(const Tensor& x) {
  Tensor y = torch::relu(bn1_->forward(conv1_->forward(x)));
  y = torch::relu(bn2_->forward(conv2_->forward(y)));
  y = bn3_->forward(conv3_->forward(y));
  return torch::relu(y + (downsample_ ? downsample_->forward(x) : x));
}

ResNetImpl::ResNetImpl(const ResNetOptions& options) : ImageModel(options) {
  conv1_ = register_module("conv1", convolution(options.channels, options.stem, 7, 2));
  bn1_ = register_module("bn1", torch::nn::BatchNorm2d(options.stem));
  int64_t inputs = options.stem;
  for (size_t stage = 0; stage < options.blocks.size(); ++stage) {
    torch::nn::ModuleList layer;
    for (int64_t i = 0; i < options.blocks[stage]; ++i) {
      blocks_.emplace_back(inputs, options.widths[stage], stage > 0 && i == 0 ? 2 : 1, i == 0);
      layer->push_back(blocks_.back());
      inputs = ResNetOptions::kExpansion * options.widths[stage];
    }
    register_module("layer" + std::to_string(stage + 1), layer);
  }
  fc = register_module("fc", torch::nn::Linear(inputs, options.classes));
  reset_parameters();
}

void ResNetImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  for (const auto& part : modules(/*include_self=*/false)) {
    if (auto* one = part->as<torch::nn::Conv2d>())
      torch::nn::init::kaiming_normal_(one->weight, 0.0, torch::kFanOut, torch::kReLU);
  }
  for (const Bottleneck& block : blocks_) block->named_parameters()["bn3.weight"].zero_();
}

Tensor ResNetImpl::features(const Tensor& pictures) {
  Tensor x = torch::relu(bn1_->forward(conv1_->forward(pictures)));
  x = torch::max_pool2d(x, 3, 2, 1);
  for (Bottleneck& block : blocks_) x = block->forward(x);
  return x.mean(torch::IntArrayRef{2, 3});
}

}  // namespace mega::baselines
