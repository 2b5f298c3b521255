#include "mega/nn/mega_block.h"

#include "mega/base/error.h"
#include "mega/ops/watch.h"

namespace mega::nn {

using torch::Tensor;

MegaBlockImpl::MegaBlockImpl(const BlockOptions& options, bool cross_attention) : options_(options) {
  mega_layer = register_module("mega_layer", GatedAttention(options));
  if (cross_attention) cross_attn = register_module("cross_attn", GatedCrossAttention(options));
  if (options.hidden > 0) nffn = register_module("nffn", FeedForward(options));
}

// Stochastic depth: in training, whole blocks are skipped at random.
bool MegaBlockImpl::skipped() const {
  if (!is_training() || options_.layer_dropout == 0.0) return false;
  Tensor draw = torch::rand({1});
  if (communicator_) {
    // The fraction of a sum of uniform numbers is uniform.
    communicator_->all_reduce_sum(draw);
    draw.frac_();
  }
  return draw.item<double>() < options_.layer_dropout;
}

Tensor MegaBlockImpl::forward(const Tensor& x, const Tensor& mask, BlockState* state) {
  require(!cross_attn, "this block has cross-attention: it needs a source");
  return forward(x, mask, Tensor(), Tensor(), state);
}

Tensor MegaBlockImpl::forward(const Tensor& x, const Tensor& mask, const Tensor& source,
                              const Tensor& source_mask, BlockState* state) {
  // With a state no block is skipped: its state would fall behind.
  if (state == nullptr && skipped()) return x;
  Tensor y = mega_layer->forward(x, mask, state == nullptr ? nullptr : &state->attention);
  ops::watch("mega_layer", y);
  if (cross_attn) y = cross_attn->forward(y, source, source_mask, state == nullptr ? nullptr : &state->cross);
  if (nffn) y = nffn->forward(y);
  ops::watch("nffn", y);
  return y;
}

}  // namespace mega::nn
