#include "mega/models/encoder.h"

#include <cmath>

#include "mega/base/error.h"
#include "mega/models/padding.h"
#include "mega/ops/dropout.h"
#include "mega/ops/watch.h"

namespace mega::models {

using torch::Tensor;

EncoderImpl::EncoderImpl(const EncoderClassifierOptions& options)
    : options_(options),
      embedding_(options, options.block.width, 1.0 / std::sqrt(static_cast<double>(options.block.width))) {
  const BlockOptions& block = options.block;
  if (options.input == InputKind::tokens) {
    // Held under the released name embed_tokens.embed.weight.
    auto holder = std::make_shared<torch::nn::Module>();
    holder->register_module("embed", embedding_);
    register_module("embed_tokens", holder);
  } else {
    register_module("embed_tokens", embedding_);
  }
  if (options.normalize_embedding) {
    require(!block.prenorm, "normalize_embedding needs postnorm blocks: set block.prenorm = false");
    embed_norm_ = register_module("embed_norm", nn::SequenceNorm(block.width, block.norm, block.affine));
  }
  torch::nn::ModuleList layers;
  for (int64_t i = 0; i < options.layers; ++i) {
    blocks_.emplace_back(block);
    layers->push_back(blocks_.back());
  }
  register_module("layers", layers);
  if (block.prenorm)
    final_norm_ = register_module("final_norm", nn::SequenceNorm(block.width, block.norm, block.affine));
}

Tensor EncoderImpl::forward(const Sequences& batch) {
  const Padding padding(batch, options_.channels);
  Tensor x = embedding_->forward(batch.values);
  if (embed_norm_) x = embed_norm_->forward(x);
  x = padding.zero(ops::dropout(x, ops::draw_dropout(options_.block.dropout, is_training())));
  ops::watch("embed_tokens", x);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const ops::WatchScope scope("layers", static_cast<int64_t>(i));
    x = blocks_[i]->forward(x, padding.mask());
  }
  if (final_norm_) x = final_norm_->forward(x);
  return padding.pool(x, options_.pooling);
}

}  // namespace mega::models
