// Language models: they predict the next token.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/model_kind.h"
#include "mega/config/models/layer_options.h"
#include "mega/config/models/model_ranges.h"

namespace mega {

// A block for models that predict what comes next.
inline BlockOptions causal_block() {
  BlockOptions block;
  block.causal = true;
  block.ema.bidirectional = false;
  return block;
}

// What all models have in common that predict the next token: the embedding of tokens, and the output.
struct TokenOptions : ModelKind {
  int64_t vocabulary = 264;
  int64_t layers = 12;
  int64_t embedding_width = 0;
  std::vector<int64_t> cutoffs;
  int64_t band_factor = 4;
  double adaptive_dropout = 0.0;
  bool tie_output = true;
  bool tie_projections = true;
  bool scale_embedding = true;
  bool output_dense = false;
  bool output_bias = false;
  bool released_loss = false;

  ModelTask task() const override { return ModelTask::language; }

  template <class Self, class Visitor>
  static void visit_size(Self& self, Visitor& v) {
    v.field("vocabulary", self.vocabulary, "number of token types; the data decides", kVocabulary);
    v.field("layers", self.layers, "number of blocks", kLayers);
  }
  template <class Self, class Visitor>
  static void visit_bands(Self& self, Visitor& v) {
    v.field("cutoffs", self.cutoffs,
            "adaptive embedding and softmax: where each band of rarer tokens begins; empty: none",
            kVocabulary);
    v.field("band_factor", self.band_factor,
            "each band's embeddings are this much narrower than the one before", Range{1, 64});
  }
  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    visit_size(self, v);
    v.field("embedding_width", self.embedding_width,
            "width of embeddings, projected to the model's; 0: the same", Range{0, 1 << 20});
    visit_bands(self, v);
    v.field("adaptive_dropout", self.adaptive_dropout, "inside the adaptive softmax", kProbability);
    v.field("tie_output", self.tie_output, "the output layer uses the embeddings");
    v.field("tie_projections", self.tie_projections, "the adaptive softmax uses the embedding's projections");
    v.field("scale_embedding", self.scale_embedding, "multiply embeddings by sqrt(D)");
    v.field(
        "output_dense", self.output_dense,
        "a layer of the model's width with tanh before the output layer, as Hugging Face's models have it");
    v.field("output_bias", self.output_bias, "a learned bias for each token in the output layer");
    v.field("released_loss", self.released_loss,
            "adaptive softmax, in training: the second token of each rarer band counts with its band alone, "
            "as released");
  }
};

struct LanguageModelOptions : TokenOptions {
  static constexpr const char* kind = "language";
  bool normalize_embedding = false;
  bool affine_final_norm = true;
  bool final_norm = true;
  bool masked = false;
  BlockOptions block = causal_block();

  StackOptions stack() const;

  bool runs_in_engine() const override { return true; }
  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  ReadingPlan reading() const override;
  void set_chunk(int64_t chunk) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    TokenOptions::visit(self, v);
    v.field("normalize_embedding", self.normalize_embedding,
            "norm after the embedding; needs postnorm blocks");
    v.field("affine_final_norm", self.affine_final_norm, "learned scale and shift in the final norm");
    v.field("final_norm", self.final_norm, "norm after the last block, if blocks are prenorm");
    v.field(
        "masked", self.masked,
        "sees the whole text and predicts what is masked in it, not the next token; blocks are not causal");
    v.nested("block", self.block, "each block");
  }
};

// Throws where the embedding and the output layer of a model of this width do not fit each other.
void check_token_layers(const TokenOptions& options, int64_t width);

// The tensors of the embedding and of the output layer.
void add_token_tensors(TensorList& list, const TokenOptions& options, int64_t width);

}  // namespace mega
