#include "mega/config/models/translator_options.h"

#include <algorithm>
#include <string>

#include "mega/base/error.h"
#include "mega/config/cost.h"
#include "mega/config/models/block_tensors.h"

namespace mega {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

}  // namespace

void check_translation_layers(const TranslationOptions& options) {
  require(!options.share_embeddings || options.source_types() == options.vocabulary,
          "source_vocabulary: a source of ", options.source_vocabulary, " token types and a target of ",
          options.vocabulary, " cannot have the same embeddings; set share_embeddings = false");
}

void add_translation_tensors(TensorList& list, const TranslationOptions& options, int64_t width) {
  const std::string source = "encoder.embed_tokens.weight", target = "decoder.embed_tokens.weight",
                    output = "decoder.output_projection.weight";
  const int64_t types = options.vocabulary;
  list.add_matrix(source, options.source_types(), width, ModelPart::embedding);
  if (options.share_embeddings)
    list.add_tied(target, types, width, ModelPart::embedding, source);
  else
    list.add_matrix(target, types, width, ModelPart::embedding);
  if (options.tie_output)
    list.add_tied(output, types, width, ModelPart::head, options.share_embeddings ? source : target);
  else
    list.add_matrix(output, types, width, ModelPart::head);
}

BlockOptions decoder_block(const TranslatorOptions& options) {
  BlockOptions block = options.block;
  block.causal = true;
  block.ema.bidirectional = false;
  return block;
}

StackOptions TranslatorOptions::encoder() const {
  return {.block = block, .layers = encoder_layers, .normalize_embedding = normalize_embedding};
}

StackOptions TranslatorOptions::decoder() const {
  return {.block = decoder_block(*this),
          .layers = decoder_layers,
          .normalize_embedding = normalize_embedding,
          .cross_attention = true};
}

void TranslatorOptions::check() const {
  validate(block);
  check_embedding_norm(normalize_embedding, block);
  check_translation_layers(*this);
  require(
      !block.causal,
      "block.causal: the block describes the encoder, which sees its whole input (the decoder is causal by "
      "itself); set block.causal = false");
}

std::vector<TensorInfo> TranslatorOptions::tensors() const {
  TensorList list;
  add_translation_tensors(list, *this, block.width);
  add_stack_tensors(list, "encoder", encoder());
  add_stack_tensors(list, "decoder", decoder());
  return list.take();
}

// Cross-attention is never chunked, so its positions limit both languages whatever the chunk is.
int64_t TranslatorOptions::max_length() const {
  const bool limited = block.position == PositionKind::simple || block.position == PositionKind::tupe;
  return limited ? block.max_positions : 0;
}

double TranslatorOptions::multiply_adds(int64_t length) const {
  const BlockOptions decoding = decoder_block(*this);
  return real(encoder_layers) * block_multiply_adds(block, length) +
         real(decoder_layers) *
             (block_multiply_adds(decoding, length) + cross_multiply_adds(decoding, length)) +
         real(vocabulary * block.width);
}

double TranslatorOptions::activation_bytes(int64_t length, int64_t batch) const {
  const BlockActivations reading = block_activations(block), cross = cross_activations(block);
  const double tokens = real(length) * real(batch), d = real(block.width);
  // The final norm, where there is one, the output of the encoder and that of the decoder.
  const double ends = 2 * d + (block.prenorm ? 4 * d : 0.0);
  const double kept =
      real(encoder_layers + decoder_layers) * reading.kept + real(decoder_layers) * cross.kept + ends;
  // The backward pass needs the most for a moment in the output layer, or in the decoder's last block.
  const double block_moment = 4.0 * tokens * std::max(reading.moment, cross.moment);
  return 4.0 * tokens * kept +
         std::max(block_moment, softmax_bytes(real(vocabulary), block.width, length * batch));
}

}  // namespace mega
