// Translators: an encoder of the source, a decoder of the target.
#pragma once

#include <cstdint>

#include "mega/base/options.h"
#include "mega/config/layer_options.h"
#include "mega/config/model_kind.h"
#include "mega/config/model_ranges.h"

namespace mega {

struct TranslatorOptions : ModelKind {
  static constexpr const char* kind = "translator";
  int64_t vocabulary = 32768;
  int64_t encoder_layers = 6;
  int64_t decoder_layers = 6;
  bool share_embeddings = true;
  bool tie_output = true;
  bool scale_embedding = true;
  bool normalize_embedding = false;
  BlockOptions block;

  ModelTask task() const override { return ModelTask::translation; }
  bool is_available() const override { return false; }
  void check() const override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("vocabulary", self.vocabulary, "number of token types, for both languages together", kVocabulary);
    v.field("encoder_layers", self.encoder_layers, "number of blocks that read the source", kLayers);
    v.field("decoder_layers", self.decoder_layers, "number of blocks that write the target", kLayers);
    v.field("share_embeddings", self.share_embeddings, "source and target have the same embeddings");
    v.field("tie_output", self.tie_output, "the output layer uses the target's embeddings");
    v.field("scale_embedding", self.scale_embedding, "multiply embeddings by sqrt(D)");
    v.field("normalize_embedding", self.normalize_embedding,
            "norm after the embedding; needs postnorm blocks");
    v.nested("block", self.block, "each encoder block; the decoder's are the same, but causal");
  }
};

// The decoder's block: the encoder's, seeing only the past.
BlockOptions decoder_block(const TranslatorOptions& options);

}  // namespace mega
