// Shared by tests of translators: small models of both kinds, with weights large enough to matter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mega/baselines/model_builders.h"
#include "mega/config/model_options.h"
#include "mega/ops/torch.h"
#include "tests/models/helpers.h"

namespace mega::testing {

inline TranslatorOptions tiny_translator(int64_t chunk = -1) {
  TranslatorOptions options;
  options.vocabulary = 12;
  options.encoder_layers = options.decoder_layers = 2;
  options.block.width = 16;
  options.block.values = 24;
  options.block.shared = 8;
  options.block.hidden = 24;
  options.block.ema.dimension = 4;
  options.block.max_positions = 40;
  options.block.chunk = chunk;
  return options;
}

inline TransformerTranslationOptions tiny_transformer() {
  TransformerTranslationOptions options;
  options.vocabulary = 12;
  options.encoder_layers = options.decoder_layers = 2;
  options.width = 12;
  options.hidden = 10;
  options.heads = 3;
  return options;
}

struct NamedTranslation {
  std::string name;
  ModelOptions options;
};

// Both kinds, all attention functions, with and without chunks, before and after norms, shared and separate
// embeddings.
inline std::vector<NamedTranslation> some_translators() {
  TranslatorOptions chunked = tiny_translator(5), laplace = tiny_translator(), relu2 = tiny_translator(3);
  laplace.block.attention = AttentionFunction::laplace;
  laplace.block.position = PositionKind::rotary;
  laplace.block.prenorm = true;
  laplace.share_embeddings = laplace.tie_output = false;
  laplace.source_vocabulary = 14;
  relu2.block.attention = AttentionFunction::relu2;
  relu2.block.position = PositionKind::rope;
  relu2.block.norm = NormKind::rms;
  relu2.share_embeddings = relu2.scale_embedding = false;
  relu2.normalize_embedding = true;
  TransformerTranslationOptions separate = tiny_transformer();
  separate.share_embeddings = separate.tie_output = false;
  return {{"mega", {tiny_translator()}},
          {"chunks", {chunked}},
          {"laplace", {laplace}},
          {"relu2", {relu2}},
          {"transformer", {tiny_transformer()}},
          {"transformer, separate", {separate}}};
}

inline std::shared_ptr<models::TranslationModel> make_translation(const ModelOptions& options) {
  torch::manual_seed(1);
  return with_large_weights(baselines::make_translation_model(options));
}

}  // namespace mega::testing
