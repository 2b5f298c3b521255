#include "mega/models/classifier.h"

#include <cmath>

namespace mega::models {

EncoderClassifierImpl::EncoderClassifierImpl(const EncoderClassifierOptions& options)
    : EncoderModel(options, options.document_count(), options.block.width, options.block.dropout) {
  const int64_t width = options.block.width;
  InputEmbedding embedding(options, width, 1.0 / std::sqrt(static_cast<double>(width)));
  if (options.input == InputKind::tokens) {
    // Registered under the released name embed_tokens.embed.weight.
    auto holder = std::make_shared<torch::nn::Module>();
    holder->register_module("embed", embedding);
    encoder().register_module("embed_tokens", holder);
  } else {
    encoder().register_module("embed_tokens", embedding);
  }
  set_encoder(embedding, std::make_unique<nn::MegaStack>(options.stack(), encoder()));
}

}  // namespace mega::models
