// Translators: an encoder of the source, a decoder of the target.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/model_kind.h"
#include "mega/config/models/layer_options.h"
#include "mega/config/models/model_ranges.h"

namespace mega {

// What all models have in common that translate: the embeddings of both languages, and the output. Costs are
// those of a pair of sentences that are equally long: `multiply_adds` of a position is one of the source and
// one of the target.
struct TranslationOptions : ModelKind {
  int64_t vocabulary = 32768;
  int64_t source_vocabulary = 0;
  int64_t encoder_layers = 6;
  int64_t decoder_layers = 6;
  bool share_embeddings = true;
  bool tie_output = true;
  bool scale_embedding = true;

  ModelTask task() const override { return ModelTask::translation; }

  // Token types of the source.
  int64_t source_types() const { return source_vocabulary > 0 ? source_vocabulary : vocabulary; }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("vocabulary", self.vocabulary,
            "number of token types of the target, or of both languages; the data decides", kVocabulary);
    v.field("source_vocabulary", self.source_vocabulary,
            "number of token types of the source; 0: both languages have the same", Range{0, 1 << 30});
    v.field("encoder_layers", self.encoder_layers, "number of blocks that read the source", kLayers);
    v.field("decoder_layers", self.decoder_layers, "number of blocks that write the target", kLayers);
    v.field("share_embeddings", self.share_embeddings, "source and target have the same embeddings");
    v.field("tie_output", self.tie_output, "the output layer uses the target's embeddings");
    v.field("scale_embedding", self.scale_embedding, "multiply embeddings by sqrt(D)");
  }
};

struct TranslatorOptions : TranslationOptions {
  static constexpr const char* kind = "translator";
  bool normalize_embedding = false;
  BlockOptions block;

  // The decoder's blocks are the encoder's, with cross-attention, and see only the past.
  StackOptions encoder() const;
  StackOptions decoder() const;

  bool runs_in_engine() const override { return true; }
  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  int64_t max_length() const override;  // of a sentence, </s> included
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    TranslationOptions::visit(self, v);
    v.field("normalize_embedding", self.normalize_embedding,
            "norm after the embedding; needs postnorm blocks");
    v.nested("block", self.block, "each encoder block; the decoder's are the same, but causal");
  }
};

// The decoder's block: the encoder's, seeing only the past.
BlockOptions decoder_block(const TranslatorOptions& options);

// Throws where the vocabularies and embeddings do not fit each other.
void check_translation_layers(const TranslationOptions& options);

// The tensors of the embeddings and of the output layer. Embeddings that both languages share, and those that
// are the output layer, are stored once, under the first of their names.
void add_translation_tensors(TensorList& list, const TranslationOptions& options, int64_t width);

}  // namespace mega
