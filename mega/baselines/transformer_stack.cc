#include "mega/baselines/transformer_stack.h"

#include "mega/base/error.h"
#include "mega/baselines/alibi.h"
#include "mega/ops/watch.h"

namespace mega::baselines {

using torch::Tensor;

TransformerStack::TransformerStack(const TransformerStackOptions& options, torch::nn::Module& holder)
    : options_(options), holder_(holder), positions_(options.layer.width) {
  const int64_t width = options.layer.width;
  if (options.normalize_embedding)
    embedding_norm_ = holder.register_module("emb_layer_norm", layer_norm(width));
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(options.layer);
    list_->push_back(layers_.back());
  }
  holder.register_module("layers", list_);
  if (options.final_norm) final_norm_ = holder.register_module("layer_norm", layer_norm(width));
}

void TransformerStack::reset_parameters() { reset_layers(*list_); }

void TransformerStack::reset_parameters_uniformly() { reset_layers_uniformly(*list_); }

Tensor TransformerStack::forward(Tensor x, const Tensor& mask, nn::State* state, const nn::Source& source) {
  require(options_.layer.cross_attention || !source.encoded.defined(),
          "this Transformer has no cross-attention");
  // Taken from the keys rather than state.position, because a table of positions of this length is built.
  const Tensor keys = state == nullptr ? Tensor() : state->blocks[0].attention.keys;
  const int64_t position = keys.defined() ? keys.size(1) : 0;
  ops::RelativeBias bias;
  if (options_.positions == TransformerPositions::alibi)
    bias = alibi_bias(options_.layer.heads, position + x.size(1), x.options());
  else
    x = x + positions_.rows(position, x.size(1), x.options());
  if (embedding_norm_) x = embedding_norm_->forward(x);
  x = nn::begin_stack(x, mask, options_.layer.dropout, holder_.is_training());
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = layers_[i]->forward(x, mask, bias, state == nullptr ? nullptr : &state->blocks[i], source);
    ops::watch("layers." + std::to_string(i), x);
  }
  return final_norm_ ? final_norm_->forward(x) : x;
}

}  // namespace mega::baselines
