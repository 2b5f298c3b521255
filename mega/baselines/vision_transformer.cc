#include "mega/baselines/vision_transformer.h"

#include "mega/baselines/transformer_layer.h"
#include "mega/ops/attention.h"
#include "mega/ops/dropout.h"
#include "mega/ops/linear.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

torch::nn::LayerNorm fine_layer_norm(int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(1e-6));
}

}  // namespace

VisionBlockImpl::VisionBlockImpl(const VisionTransformerOptions& options, double drop_path)
    : drop_path1(drop_path),
      drop_path2(drop_path),
      heads_(options.heads),
      dropout_(options.dropout),
      norm1_(fine_layer_norm(options.width)),
      norm2_(fine_layer_norm(options.width)),
      qkv_(torch::nn::LinearOptions(options.width, 3 * options.width).bias(options.qkv_bias)),
      proj_(options.width, options.width),
      fc1_(options.width, options.hidden),
      fc2_(options.hidden, options.width) {
  auto attention = std::make_shared<torch::nn::Module>(),
       feed_forward = std::make_shared<torch::nn::Module>();
  attention->register_module("qkv", qkv_);
  attention->register_module("proj", proj_);
  feed_forward->register_module("fc1", fc1_);
  feed_forward->register_module("fc2", fc2_);
  register_module("norm1", norm1_);
  register_module("attn", attention);
  register_module("norm2", norm2_);
  register_module("mlp", feed_forward);
  register_module("drop_path1", drop_path1);
  register_module("drop_path2", drop_path2);
}

Tensor VisionBlockImpl::forward(const Tensor& x) {
  const Tensor y = drop_path1->add(x, attend(norm1_->forward(x)));
  const Tensor inner = ops::linear(norm2_->forward(y), fc1_->weight, fc1_->bias);
  const auto inside = ops::draw_dropout(dropout_, is_training());
  return drop_path2->add(
      y, drop(ops::activated_linear(inner, Activation::gelu, inside, fc2_->weight, fc2_->bias)));
}

Tensor VisionBlockImpl::attend(const Tensor& x) {
  const auto parts = ops::linear(x, qkv_->weight, qkv_->bias).chunk(3, -1);
  ops::AttentionSettings settings;
  settings.heads = heads_;
  const Tensor attended = ops::attention(parts[0], parts[1], parts[2], {}, {}, settings);
  return drop(ops::linear(attended, proj_->weight, proj_->bias));
}

Tensor VisionBlockImpl::drop(const Tensor& x) {
  return ops::dropout(x, ops::draw_dropout(dropout_, is_training()));
}

VisionTransformerImpl::VisionTransformerImpl(const VisionTransformerOptions& options)
    : ImageModel(options), options_(options) {
  const int64_t width = options.width;
  cls_token_ = register_parameter("cls_token", torch::empty({1, 1, width}));
  if (options.distilled) dist_token_ = register_parameter("dist_token", torch::empty({1, 1, width}));
  pos_embed_ = register_parameter("pos_embed", torch::empty({1, options.tokens(), width}));
  patch_embed_ = register_module(
      "patch_embed", models::PatchEmbedding(options.channels, options.patch, width, PatchForm::convolution));
  torch::nn::ModuleList list;
  for (int64_t i = 0; i < options.layers; ++i) {
    blocks.emplace_back(options, nn::drop_path_rate(options.drop_path, i, options.layers));
    list->push_back(blocks.back());
  }
  register_module("blocks", list);
  norm_ = register_module("norm", fine_layer_norm(width));
  const int64_t seen = options.representation > 0 ? options.representation : width;
  if (options.representation > 0) {
    auto holder = std::make_shared<torch::nn::Module>();
    pre_logits_ = holder->register_module("fc", torch::nn::Linear(width, seen));
    register_module("pre_logits", holder);
  }
  head_ = register_module("head", torch::nn::Linear(seen, options.classes));
  if (options.distilled) head_dist_ = register_module("head_dist", torch::nn::Linear(width, options.classes));
  reset_parameters();
}

void VisionTransformerImpl::reset_parameters() {
  reset_layers(*this);
  const torch::NoGradGuard guard;
  for (const Tensor& token : {cls_token_, dist_token_, pos_embed_})
    if (token.defined()) token.normal_(0.0, kInitialDeviation);
  patch_embed_->reset_parameters();
}

Tensor VisionTransformerImpl::forward(const Tensor& pictures) {
  const std::vector<Tensor> all = answers(pictures);
  return all.size() == 1 ? all[0] : (all[0] + all[1]) / 2;
}

std::vector<Tensor> VisionTransformerImpl::answers(const Tensor& pictures) {
  const Tensor patches = patch_embed_->forward(pictures);
  std::vector<Tensor> sequence;
  for (const Tensor& token : {cls_token_, dist_token_})
    if (token.defined()) sequence.push_back(token.expand({patches.size(0), 1, options_.width}));
  sequence.push_back(patches);
  Tensor x =
      ops::dropout(torch::cat(sequence, 1) + pos_embed_, ops::draw_dropout(options_.dropout, is_training()));
  for (VisionBlock& block : blocks) x = block->forward(x);
  x = norm_->forward(x.narrow(1, 0, options_.extra_tokens()));  // nothing else is read
  const Tensor token = x.select(1, 0);
  std::vector<Tensor> said = {head_->forward(pre_logits_ ? torch::tanh(pre_logits_->forward(token)) : token)};
  if (head_dist_) said.push_back(head_dist_->forward(x.select(1, 1)));
  return said;
}

}  // namespace mega::baselines
