#include "mega/peers/language_transformer.h"

#include "mega/base/error.h"
#include "mega/ops/check.h"
#include "mega/ops/dropout.h"
#include "mega/ops/watch.h"
#include "mega/peers/alibi.h"

namespace mega::peers {

using torch::Tensor;

LanguageTransformerImpl::LanguageTransformerImpl(const TransformerLanguageOptions& options)
    : options_(options),
      decoder_(register_module("decoder", std::make_shared<torch::nn::Module>())),
      embedding_(options, options.width, *decoder_),
      output_(options, options.width, embedding_, *decoder_),
      positions_(options.width) {
  TransformerLayerOptions layer(options);
  layer.causal = layer.prenorm = true;
  torch::nn::ModuleList layers;
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(layer);
    layers->push_back(layers_.back());
  }
  decoder_->register_module("layers", layers);
  reset_layers(*layers);
  final_norm_ = decoder_->register_module("layer_norm", layer_norm(options.width));
}

Tensor LanguageTransformerImpl::features(const Tensor& tokens, const Tensor& mask, nn::State* state) {
  Tensor x = embedding_.forward(tokens);
  ops::check_mask("language model", mask, tokens.size(0), tokens.size(1));
  // The caller's state changes only when all has gone well.
  nn::State next;
  if (state != nullptr) {
    next = *state;
    require(next.blocks.empty() || next.blocks.size() == layers_.size(), "the state has ", next.blocks.size(),
            " blocks, the model ", layers_.size());
    next.blocks.resize(layers_.size());
  }
  // Counted, not believed: a table of positions is as long.
  const int64_t position =
      state != nullptr && next.blocks[0].attention.keys.defined() ? next.blocks[0].attention.keys.size(1) : 0;
  ops::RelativeBias bias;
  if (options_.positions == TransformerPositions::alibi)
    bias = alibi_bias(options_.heads, position + tokens.size(1), x.options());
  else
    x = x + positions_.rows(position, tokens.size(1), x.options());

  const auto zero_padding = [&](const Tensor& y) {
    return mask.defined() ? y.masked_fill(mask.unsqueeze(2), 0) : y;
  };
  x = zero_padding(ops::dropout(x, ops::draw_dropout(options_.dropout, is_training())));
  ops::watch("embed_tokens", x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = layers_[i]->forward(x, mask, bias, state == nullptr ? nullptr : &next.blocks[i]);
    ops::watch("layers." + std::to_string(i), x);
  }
  x = final_norm_->forward(x);
  if (state != nullptr) *state = std::move(next);
  return zero_padding(x);
}

}  // namespace mega::peers
