#include "mega/models/language_model.h"

#include "mega/base/error.h"
#include "mega/ops/check.h"
#include "mega/ops/dropout.h"
#include "mega/ops/watch.h"

namespace mega::models {

using torch::Tensor;

LanguageModelImpl::LanguageModelImpl(const LanguageModelOptions& options)
    : options_(options),
      decoder_(register_module("decoder", std::make_shared<torch::nn::Module>())),
      embedding_(options, options.block.width, *decoder_),
      output_(options, options.block.width, embedding_, *decoder_) {
  const BlockOptions& block = options.block;
  if (options.normalize_embedding)
    embed_norm_ =
        decoder_->register_module("embed_norm", nn::SequenceNorm(block.width, block.norm, block.affine));
  torch::nn::ModuleList layers;
  for (int64_t i = 0; i < options.layers; ++i) {
    blocks_.emplace_back(block);
    layers->push_back(blocks_.back());
  }
  decoder_->register_module("layers", layers);
  if (block.prenorm)
    final_norm_ = decoder_->register_module(
        "final_norm", nn::SequenceNorm(block.width, block.norm, options.affine_final_norm));
}

Tensor LanguageModelImpl::features(const Tensor& tokens, const Tensor& mask, nn::State* state) {
  Tensor x = embedding_.forward(tokens);
  ops::check_mask("language model", mask, tokens.size(0), tokens.size(1));
  const auto zero_padding = [&](const Tensor& y) {
    return mask.defined() ? y.masked_fill(mask.unsqueeze(2), 0) : y;
  };
  if (embed_norm_) x = embed_norm_->forward(x);
  x = zero_padding(ops::dropout(x, ops::draw_dropout(options_.block.dropout, is_training())));
  ops::watch("embed_tokens", x);
  // The caller's state changes only when all has gone well.
  nn::State next;
  if (state != nullptr) {
    next = *state;
    require(next.blocks.empty() || next.blocks.size() == blocks_.size(), "the state has ", next.blocks.size(),
            " blocks, the model ", blocks_.size());
    next.blocks.resize(blocks_.size());
  }
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const ops::WatchScope scope("layers", static_cast<int64_t>(i));
    x = blocks_[i]->forward(x, mask, state == nullptr ? nullptr : &next.blocks[i]);
  }
  if (final_norm_) x = final_norm_->forward(x);
  if (state != nullptr) *state = std::move(next);
  return zero_padding(x);
}

}  // namespace mega::models
