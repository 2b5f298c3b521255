#include "mega/baselines/s4_stack.h"

#include "mega/base/error.h"
#include "mega/ops/watch.h"

namespace mega::baselines {

using torch::Tensor;

S4Stack::S4Stack(const S4StackOptions& options, torch::nn::Module& holder)
    : options_(options), holder_(holder) {
  const StateSpaceOptions& layer = options.layer;
  torch::nn::ModuleList blocks, norms, feed_forwards;
  for (int64_t i = 0; i < options.blocks * options.mixers; ++i) {
    layers_.emplace_back(layer, options.kernel());
    norms_.emplace_back(layer.width, layer.norm);
    blocks->push_back(layers_.back());
    norms->push_back(norms_.back());
  }
  holder.register_module("blocks", blocks);
  holder.register_module("norms", norms);
  if (options.hidden > 0) {
    BlockOptions block;
    block.width = layer.width;
    block.hidden = options.hidden;
    block.norm = layer.norm;
    block.prenorm = layer.prenorm;
    block.activation = Activation::gelu;
    block.dropout = block.activation_dropout = layer.dropout;
    for (int64_t i = 0; i < options.blocks; ++i) {
      feed_forwards_.emplace_back(block);
      feed_forwards->push_back(feed_forwards_.back());
    }
    holder.register_module("feed_forwards", feed_forwards);
  }
  options_.kernel = nullptr;  // it refers to what the caller has
  if (layer.prenorm)
    final_norm_ = holder.register_module("final_norm", nn::SequenceNorm(layer.width, layer.norm));
}

Tensor S4Stack::forward(Tensor x, const Tensor& mask, nn::State* state, const nn::Source& source) {
  require(!source.encoded.defined(), "a state space model has no cross-attention");
  const bool prenorm = options_.layer.prenorm;
  const auto mixers = static_cast<size_t>(options_.mixers);
  const int64_t numbers = options_.layer.state;
  ops::watch("embed_tokens", x);
  for (size_t i = 0; i < static_cast<size_t>(options_.blocks); ++i) {
    const ops::WatchScope scope("blocks", static_cast<int64_t>(i));
    nn::GatedAttentionState* const block = state == nullptr ? nullptr : &state->blocks[i].attention;
    if (block != nullptr && block->ema.defined())
      require(block->ema.dim() == 3 && block->ema.size(2) == options_.mixers * numbers,
              "the state of a block of this model must be (batch, ", options_.layer.width, ", ",
              options_.mixers * numbers, "), not ", block->ema.sizes());
    std::vector<Tensor> after(mixers);
    for (size_t k = 0; k < mixers; ++k) {
      const size_t at = i * mixers + k;
      if (block != nullptr && block->ema.defined())
        after[k] = block->ema.narrow(2, static_cast<int64_t>(k) * numbers, numbers).contiguous();
      const Tensor input = prenorm ? norms_[at]->forward(x) : x;
      x = x + layers_[at]->forward(input, mask, block == nullptr ? nullptr : &after[k]);
      if (!prenorm) x = norms_[at]->forward(x);
    }
    if (block != nullptr) {
      block->ema = torch::cat(after, 2);
      block->position += x.size(1);
    }
    if (!feed_forwards_.empty()) x = feed_forwards_[i]->forward(x);
    ops::watch("output", x);
  }
  return final_norm_ ? final_norm_->forward(x) : x;
}

}  // namespace mega::baselines
