#include "mega/models/language_model.h"

#include "mega/ops/dropout.h"
#include "mega/ops/watch.h"

namespace mega::models {

using torch::Tensor;

LanguageModelImpl::LanguageModelImpl(const LanguageModelOptions& options)
    : TokenModel(options, options.block.width), options_(options) {
  const BlockOptions& block = options.block;
  if (options.normalize_embedding)
    embed_norm_ =
        decoder().register_module("embed_norm", nn::SequenceNorm(block.width, block.norm, block.affine));
  torch::nn::ModuleList layers;
  for (int64_t i = 0; i < options.layers; ++i) {
    blocks_.emplace_back(block);
    layers->push_back(blocks_.back());
  }
  decoder().register_module("layers", layers);
  if (block.prenorm)
    final_norm_ = decoder().register_module(
        "final_norm", nn::SequenceNorm(block.width, block.norm, options.affine_final_norm));
}

Tensor LanguageModelImpl::read(Tensor x, const Tensor& mask, nn::State* state) {
  if (embed_norm_) x = embed_norm_->forward(x);
  x = zero_padding(ops::dropout(x, ops::draw_dropout(options_.block.dropout, is_training())), mask);
  ops::watch("embed_tokens", x);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const ops::WatchScope scope("layers", static_cast<int64_t>(i));
    x = blocks_[i]->forward(x, mask, state == nullptr ? nullptr : &state->blocks[i]);
  }
  return final_norm_ ? final_norm_->forward(x) : x;
}

}  // namespace mega::models
