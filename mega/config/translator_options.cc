#include "mega/config/translator_options.h"

#include "mega/base/error.h"

namespace mega {

void TranslatorOptions::check() const {
  validate(block);
  check_embedding_norm(normalize_embedding, block);
  require(
      !block.causal,
      "block.causal: the block describes the encoder, which sees its whole input (the decoder is causal by "
      "itself); set block.causal = false");
}

BlockOptions decoder_block(const TranslatorOptions& options) {
  BlockOptions block = options.block;
  block.causal = true;
  block.ema.bidirectional = false;
  return block;
}

}  // namespace mega
