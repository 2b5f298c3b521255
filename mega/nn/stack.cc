#include "mega/nn/stack.h"

#include "mega/base/error.h"
#include "mega/ops/dropout.h"
#include "mega/ops/watch.h"

namespace mega::nn {

using torch::Tensor;

Tensor zero_padding(const Tensor& x, const Tensor& mask) {
  return mask.defined() ? x.masked_fill(mask.unsqueeze(2), 0) : x;
}

Tensor begin_stack(const Tensor& x, const Tensor& mask, double dropout, bool training) {
  const Tensor y = zero_padding(ops::dropout(x, ops::draw_dropout(dropout, training)), mask);
  ops::watch("embed_tokens", y);
  return y;
}

MegaStack::MegaStack(const StackOptions& options, torch::nn::Module& holder)
    : options_(options), holder_(holder) {
  const BlockOptions& block = options.block;
  if (options.normalize_embedding) {
    require(!block.prenorm, "normalize_embedding needs postnorm blocks: set block.prenorm = false");
    embed_norm_ =
        holder.register_module("embed_norm", SequenceNorm(block.width, plain_norm(block.norm), block.affine));
  }
  torch::nn::ModuleList layers;
  for (int64_t i = 0; i < options.layers; ++i) {
    BlockOptions own = block;
    own.drop_path = drop_path_rate(block.drop_path, i, options.layers);
    blocks_.emplace_back(own, options.cross_attention);
    layers->push_back(blocks_.back());
  }
  holder.register_module(options.blocks, layers);
  if (block.prenorm && options.final_norm)
    final_norm_ = holder.register_module(
        "final_norm", SequenceNorm(block.width, plain_norm(block.norm), options.affine_final_norm));
}

Tensor MegaStack::forward(Tensor x, const Tensor& mask, State* state, const Source& source) {
  require(options_.cross_attention || !source.encoded.defined(), "these blocks have no cross-attention");
  if (embed_norm_) x = embed_norm_->forward(x);
  x = begin_stack(x, mask, options_.drop_embedding ? options_.block.dropout : 0.0, holder_.is_training());
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const ops::WatchScope scope(options_.blocks, static_cast<int64_t>(i));
    BlockState* const block = state == nullptr ? nullptr : &state->blocks[i];
    x = blocks_[i]->forward(x, mask, source.encoded, source.mask, block);
  }
  return final_norm_ ? final_norm_->forward(x) : x;
}

}  // namespace mega::nn
