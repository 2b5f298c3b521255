#include "mega/baselines/transformer.h"

#include <cmath>

#include "mega/baselines/transformer_stack.h"

namespace mega::baselines {

TransformerImpl::TransformerImpl(const TransformerOptions& options)
    : EncoderModel(options, options.documents, options.width, options.dropout) {
  models::InputEmbedding embedding(options, options.width, kInitialDeviation);
  encoder().register_module("embed_tokens", embedding);
  TransformerStackOptions stack_options{.layer = TransformerLayerOptions(options), .layers = options.layers};
  stack_options.normalize_embedding = options.normalize_embedding;
  auto stack = std::make_unique<TransformerStack>(stack_options, encoder());
  embedding->reset_parameters();
  stack->reset_parameters();
  const bool tokens = options.input == InputKind::tokens;
  set_encoder(embedding, std::move(stack), tokens ? std::sqrt(static_cast<double>(options.width)) : 1.0);
}

}  // namespace mega::baselines
