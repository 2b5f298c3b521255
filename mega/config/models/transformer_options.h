// The Transformers that the paper compares with.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/models/classifier_options.h"
#include "mega/config/models/image_options.h"
#include "mega/config/models/language_options.h"
#include "mega/config/models/translator_options.h"

namespace mega {

// The Transformer that the paper compares with, reading one document or a pair.
struct TransformerOptions : SequenceOptions {
  static constexpr const char* kind = "transformer";
  int64_t documents = 1;
  int64_t width = 256;
  int64_t hidden = 1024;
  int64_t heads = 4;
  Activation activation = Activation::gelu;
  bool normalize_embedding = true;
  double dropout = 0.1;
  double attention_dropout = 0.0;
  double activation_dropout = 0.0;

  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  int64_t document_count() const override { return documents; }
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  bool match(const ModelKind& other) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    SequenceOptions::visit(self, v);
    v.field("documents", self.documents, "1 classifies a sequence, 2 a pair", Range{1, 2});
    v.field("width", self.width, "D, width of the model", kWidth);
    v.field("hidden", self.hidden, "width inside the feed-forward", kWidth);
    v.field("heads", self.heads, "attention heads; divides the width", Range{1, 1024});
    v.field("activation", self.activation, "activation of the feed-forward");
    v.field("normalize_embedding", self.normalize_embedding, "layer norm after the embedding");
    v.field("dropout", self.dropout, "on the embedding and on the output of each sublayer", kProbability);
    v.field("attention_dropout", self.attention_dropout, "on attention weights", kProbability);
    v.field("activation_dropout", self.activation_dropout, "inside the feed-forward", kProbability);
  }
};

// How a Transformer knows positions: sinusoids added to the embeddings, or a bias that grows with distance
// (ALiBi, Press et al. 2022).
enum class TransformerPositions { sinusoidal, alibi };

template <>
struct EnumNames<TransformerPositions> {
  static constexpr auto names = enum_table<TransformerPositions>(
      {{TransformerPositions::sinusoidal, "sinusoidal"}, {TransformerPositions::alibi, "alibi"}});
};

// The Transformer language model that the paper compares with: prenorm, with a final norm or, as Baevski and
// Auli (2019) have it with adaptive input and softmax (cutoffs), without. It is scored with a sliding window:
// each token after the first window sees at least window - stride tokens before it.
struct TransformerLanguageOptions : TokenOptions {
  static constexpr const char* kind = "transformer_language";
  int64_t width = 512;
  int64_t hidden = 2048;
  int64_t heads = 8;
  TransformerPositions positions = TransformerPositions::sinusoidal;
  Activation activation = Activation::relu;
  bool final_norm = true;
  int64_t window = 3072;
  int64_t stride = 512;
  double dropout = 0.1;
  double attention_dropout = 0.0;
  double activation_dropout = 0.0;

  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  ReadingPlan reading() const override { return {.window = window, .stride = stride}; }
  bool match(const ModelKind& other) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    TokenOptions::visit(self, v);
    v.field("width", self.width, "D, width of the model", kWidth);
    v.field("hidden", self.hidden, "width inside the feed-forward", kWidth);
    v.field("heads", self.heads, "attention heads; divides the width", Range{1, 1024});
    v.field("positions", self.positions, "how positions are known");
    v.field("activation", self.activation, "activation of the feed-forward");
    v.field("final_norm", self.final_norm, "layer norm after the last block");
    v.field("window", self.window, "tokens that are read together when a text is scored", Range{1, 1e9});
    v.field("stride", self.stride, "tokens of a window that are scored, its last", Range{1, 1e9});
    v.field("dropout", self.dropout, "on the embedding and on the output of each sublayer", kProbability);
    v.field("attention_dropout", self.attention_dropout, "on attention weights", kProbability);
    v.field("activation_dropout", self.activation_dropout, "inside the feed-forward", kProbability);
  }
};

// The Transformer that the paper compares translators with, by default of its base size (Vaswani et al.
// 2017): sinusoidal positions, postnorm, no final norm.
struct TransformerTranslationOptions : TranslationOptions {
  static constexpr const char* kind = "transformer_translation";
  int64_t width = 512;
  int64_t hidden = 2048;
  int64_t heads = 8;
  Activation activation = Activation::relu;
  double dropout = 0.1;
  double attention_dropout = 0.0;
  double activation_dropout = 0.0;

  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  bool match(const ModelKind& other) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    TranslationOptions::visit(self, v);
    v.field("width", self.width, "D, width of the model", kWidth);
    v.field("hidden", self.hidden, "width inside the feed-forward", kWidth);
    v.field("heads", self.heads, "attention heads; divides the width", Range{1, 1024});
    v.field("activation", self.activation, "activation of the feed-forward");
    v.field("dropout", self.dropout, "on the embedding and on the output of each sublayer", kProbability);
    v.field("attention_dropout", self.attention_dropout, "on attention weights", kProbability);
    v.field("activation_dropout", self.activation_dropout, "inside the feed-forward", kProbability);
  }
};

// ViT-B/16 by default, which is DeiT-B: a class token and patches of a picture through prenorm layers.
struct VisionTransformerOptions : ImageOptions {
  static constexpr const char* kind = "transformer_image";
  int64_t patch = 16;
  int64_t layers = 12;
  int64_t width = 768;
  int64_t hidden = 3072;
  int64_t heads = 12;
  bool qkv_bias = true;
  bool distilled = false;
  int64_t representation = 0;
  double dropout = 0.0;
  double drop_path = 0.0;

  int64_t tokens() const { return patches(patch).size() + extra_tokens(); }
  std::optional<Grid> patch_grid() const override { return patches(patch); }
  int64_t extra_tokens() const override { return distilled ? 2 : 1; }

  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  bool match(const ModelKind& other) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    ImageOptions::visit(self, v);
    v.field("patch", self.patch, "height and width of a patch in pixels", Range{1, 1 << 16});
    v.field("layers", self.layers, "number of blocks", kLayers);
    v.field("width", self.width, "D, width of the model", kWidth);
    v.field("hidden", self.hidden, "width inside the feed-forward", kWidth);
    v.field("heads", self.heads, "attention heads; divides the width", Range{1, 1024});
    v.field("qkv_bias", self.qkv_bias, "biases of queries, keys and values");
    v.field("distilled", self.distilled, "a second token with a head of its own; the answer is their mean");
    v.field("representation", self.representation, "width of a layer with tanh before the head; 0: none",
            Range{0, 1 << 20});
    v.field("dropout", self.dropout,
            "on the embedding, inside the feed-forward and on the output of each sublayer", kProbability);
    v.field("drop_path", self.drop_path,
            "stochastic depth: leave out a sublayer of the last block for a picture; of earlier blocks in "
            "proportion to their depth",
            kProbability);
  }
};

}  // namespace mega
