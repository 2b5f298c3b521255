#include "mega/baselines/language_transformer.h"

#include "mega/baselines/alibi.h"
#include "mega/ops/dropout.h"
#include "mega/ops/watch.h"

namespace mega::baselines {

using torch::Tensor;

LanguageTransformerImpl::LanguageTransformerImpl(const TransformerLanguageOptions& options)
    : TokenModel(options, options.width), options_(options), positions_(options.width) {
  TransformerLayerOptions layer(options);
  layer.causal = layer.prenorm = true;
  torch::nn::ModuleList layers;
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(layer);
    layers->push_back(layers_.back());
  }
  decoder().register_module("layers", layers);
  reset_layers(*layers);
  final_norm_ = decoder().register_module("layer_norm", layer_norm(options.width));
}

Tensor LanguageTransformerImpl::read(Tensor x, const Tensor& mask, nn::State* state) {
  // Counted, not believed: a table of positions is as long.
  const Tensor keys = state == nullptr ? Tensor() : state->blocks[0].attention.keys;
  const int64_t position = keys.defined() ? keys.size(1) : 0;
  ops::RelativeBias bias;
  if (options_.positions == TransformerPositions::alibi)
    bias = alibi_bias(options_.heads, position + x.size(1), x.options());
  else
    x = x + positions_.rows(position, x.size(1), x.options());

  x = zero_padding(ops::dropout(x, ops::draw_dropout(options_.dropout, is_training())), mask);
  ops::watch("embed_tokens", x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = layers_[i]->forward(x, mask, bias, state == nullptr ? nullptr : &state->blocks[i]);
    ops::watch("layers." + std::to_string(i), x);
  }
  return final_norm_->forward(x);
}

}  // namespace mega::baselines
