#include "mega/models/image_classifier.h"

#include <cmath>

#include "mega/ops/activation.h"
#include "mega/ops/linear.h"
#include "mega/ops/watch.h"

namespace mega::models {
namespace {

using torch::Tensor;

// NAME.fc, as the release has it.
torch::nn::Linear held_linear(torch::nn::Module& model, const char* name, int64_t inputs, int64_t outputs) {
  auto holder = std::make_shared<torch::nn::Module>();
  torch::nn::Linear linear = holder->register_module("fc", torch::nn::Linear(inputs, outputs));
  model.register_module(name, holder);
  return linear;
}

}  // namespace

ImageClassifierImpl::ImageClassifierImpl(const ImageClassifierOptions& options)
    : ImageModel(options), options_(options) {
  const int64_t width = options.block.width;
  if (options.positions)
    pos_embed = register_parameter("pos_embed", torch::empty({1, options.grid().size(), width}));
  patch_embed = register_module("patch_embed",
                                PatchEmbedding(options.channels, options.patch, width, options.patch_form));
  stack_ = std::make_unique<nn::MegaStack>(options.stack(), *this);
  out_proj = held_linear(*this, "out_proj", width, width);
  if (options.representation > 0)
    pre_logits = held_linear(*this, "pre_logits", width, options.representation);
  head = register_module(
      "head",
      torch::nn::Linear(options.representation > 0 ? options.representation : width, options.classes));
  reset_parameters();
}

// Patch embedding and blocks initialise themselves.
void ImageClassifierImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  if (pos_embed.defined()) pos_embed.normal_(0.0, 1.0 / std::sqrt(static_cast<double>(options_.block.width)));
  out_proj->weight.normal_(0.0, 0.02);
  torch::nn::init::xavier_uniform_(head->weight);
  if (pre_logits) torch::nn::init::xavier_uniform_(pre_logits->weight);
  for (const auto& linear : {out_proj, pre_logits, head})
    if (linear) linear->bias.zero_();
}

Tensor ImageClassifierImpl::features(const Tensor& pictures) {
  Tensor x = patch_embed->forward(pictures);
  if (pos_embed.defined()) x = x + pos_embed;
  x = stack_->forward(x, {});
  const Tensor at_patches = ops::linear(x, out_proj->weight, out_proj->bias);
  const Tensor pooled = ops::activate(at_patches, Activation::silu).mean(1);
  ops::watch("out_proj", pooled);
  return pre_logits ? torch::silu(pre_logits->forward(pooled)) : pooled;
}

}  // namespace mega::models
