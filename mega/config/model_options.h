// What a model is: one struct per kind of model, and the variant that holds one of them. A model file
// carries exactly this, and a preset begins with it.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "mega/base/options.h"
#include "mega/config/layer_options.h"

namespace mega {

// What a sequence is made of: token numbers with an embedding, or real numbers (grey values of pixels,
// samples of sound, the channels of a series), which become x * weight + bias.
enum class InputKind { tokens, pixels, samples, series };

// What is predicted: one of the classes, or as many real numbers.
enum class Objective { classification, regression };

// What stands for the whole sequence: the mean over its positions, or its first one.
enum class Pooling { mean, cls };

template <>
struct EnumNames<InputKind> {
  static constexpr auto names = enum_table<InputKind>({{InputKind::tokens, "tokens"},
                                                       {InputKind::pixels, "pixels"},
                                                       {InputKind::samples, "samples"},
                                                       {InputKind::series, "series"}});
};
template <>
struct EnumNames<Objective> {
  static constexpr auto names = enum_table<Objective>(
      {{Objective::classification, "classification"}, {Objective::regression, "regression"}});
};
template <>
struct EnumNames<Pooling> {
  static constexpr auto names = enum_table<Pooling>({{Pooling::mean, "mean"}, {Pooling::cls, "cls"}});
};

inline constexpr Range kVocabulary{1, 1 << 30};
inline constexpr Range kLayers{1, 1000};
inline constexpr Range kClasses{1, 1 << 20};

// A block for models that predict what comes next.
inline BlockOptions causal_block() {
  BlockOptions block;
  block.causal = true;
  block.ema.bidirectional = false;
  return block;
}

// What all models have in common that read whole sequences and say one thing about each.
struct SequenceOptions {
  InputKind input = InputKind::tokens;
  int64_t vocabulary = 264;
  int64_t channels = 1;
  Objective objective = Objective::classification;
  int64_t classes = 2;
  int64_t layers = 4;
  int64_t head = 256;
  Pooling pooling = Pooling::mean;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("input", self.input, "what a sequence is made of");
    v.field("vocabulary", self.vocabulary, "number of token types, with input = tokens", kVocabulary);
    v.field("channels", self.channels, "real numbers at each position, with input = series",
            Range{1, 1 << 16});
    v.field("objective", self.objective, "predict a class, or real numbers");
    v.field("classes", self.classes, "number of classes, or of real numbers to predict", kClasses);
    v.field("layers", self.layers, "number of blocks", kLayers);
    v.field("head", self.head, "width of the classifier's hidden layer", kWidth);
    v.field("pooling", self.pooling, "what stands for the whole sequence");
  }
};

// Tokens that a model of whole sequences has beside those of its texts: the last number of its vocabulary is
// <CLS>.
inline constexpr int64_t kReservedTokens = 1;

// The token that stands before each text of such a model; -1 for none.
int32_t cls_token(const SequenceOptions& options);

// A Mega encoder with a classifier on top: what a classifier of one sequence and a matcher of two have in
// common.
struct EncoderClassifierOptions : SequenceOptions {
  bool normalize_embedding = false;
  BlockOptions block;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    SequenceOptions::visit(self, v);
    v.field("normalize_embedding", self.normalize_embedding,
            "norm after the embedding; needs postnorm blocks");
    v.nested("block", self.block, "each block");
  }
};

struct ClassifierOptions : EncoderClassifierOptions {
  static constexpr const char* kind = "classifier";
};

// Two documents through the same encoder; the head sees both, one after the other.
struct MatcherOptions : EncoderClassifierOptions {
  static constexpr const char* kind = "matcher";
};

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

// What all models have in common that predict the next token: the embedding of tokens, and the output.
struct TokenOptions {
  int64_t vocabulary = 264;
  int64_t layers = 12;
  int64_t embedding_width = 0;
  std::vector<int64_t> cutoffs;
  int64_t band_factor = 4;
  double adaptive_dropout = 0.0;
  bool tie_output = true;
  bool tie_projections = true;
  bool scale_embedding = true;
  bool released_loss = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("vocabulary", self.vocabulary, "number of token types; the data decides", kVocabulary);
    v.field("layers", self.layers, "number of blocks", kLayers);
    v.field("embedding_width", self.embedding_width,
            "width of embeddings, projected to the model's; 0: the same", Range{0, 1 << 20});
    v.field("cutoffs", self.cutoffs,
            "adaptive embedding and softmax: where each band of rarer tokens begins; empty: none",
            kVocabulary);
    v.field("band_factor", self.band_factor,
            "each band's embeddings are this much narrower than the one before", Range{1, 64});
    v.field("adaptive_dropout", self.adaptive_dropout, "inside the adaptive softmax", kProbability);
    v.field("tie_output", self.tie_output, "the output layer uses the embeddings");
    v.field("tie_projections", self.tie_projections, "the adaptive softmax uses the embedding's projections");
    v.field("scale_embedding", self.scale_embedding, "multiply embeddings by sqrt(D)");
    v.field("released_loss", self.released_loss,
            "adaptive softmax, in training: the second token of each rarer band counts with its band alone, "
            "as released");
  }
};

struct LanguageModelOptions : TokenOptions {
  static constexpr const char* kind = "language";
  bool normalize_embedding = false;
  bool affine_final_norm = true;
  BlockOptions block = causal_block();

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    TokenOptions::visit(self, v);
    v.field("normalize_embedding", self.normalize_embedding,
            "norm after the embedding; needs postnorm blocks");
    v.field("affine_final_norm", self.affine_final_norm, "learned scale and shift in the final norm");
    v.nested("block", self.block, "each block");
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

// The Transformer language model that the paper compares with: prenorm, with a final norm. It is scored with
// a sliding window: each token after the first window sees at least window - stride tokens before it.
struct TransformerLanguageOptions : TokenOptions {
  static constexpr const char* kind = "transformer_language";
  int64_t width = 512;
  int64_t hidden = 2048;
  int64_t heads = 8;
  TransformerPositions positions = TransformerPositions::sinusoidal;
  Activation activation = Activation::relu;
  int64_t window = 3072;
  int64_t stride = 512;
  double dropout = 0.1;
  double attention_dropout = 0.0;
  double activation_dropout = 0.0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    TokenOptions::visit(self, v);
    v.field("width", self.width, "D, width of the model", kWidth);
    v.field("hidden", self.hidden, "width inside the feed-forward", kWidth);
    v.field("heads", self.heads, "attention heads; divides the width", Range{1, 1024});
    v.field("positions", self.positions, "how positions are known");
    v.field("activation", self.activation, "activation of the feed-forward");
    v.field("window", self.window, "tokens that are read together when a text is scored", Range{1, 1e9});
    v.field("stride", self.stride, "tokens of a window that are scored, its last", Range{1, 1e9});
    v.field("dropout", self.dropout, "on the embedding and on the output of each sublayer", kProbability);
    v.field("attention_dropout", self.attention_dropout, "on attention weights", kProbability);
    v.field("activation_dropout", self.activation_dropout, "inside the feed-forward", kProbability);
  }
};

struct TranslatorOptions {
  static constexpr const char* kind = "translator";
  int64_t vocabulary = 32768;
  int64_t encoder_layers = 6;
  int64_t decoder_layers = 6;
  bool share_embeddings = true;
  bool tie_output = true;
  bool scale_embedding = true;
  bool normalize_embedding = false;
  BlockOptions block;

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

// An image as a sequence of square patches.
struct ImageClassifierOptions {
  static constexpr const char* kind = "image";
  int64_t image = 224;
  int64_t patch = 16;
  int64_t channels = 3;
  int64_t classes = 1000;
  int64_t layers = 12;
  Pooling pooling = Pooling::mean;
  BlockOptions block;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("image", self.image, "height and width of the image in pixels", Range{1, 1 << 16});
    v.field("patch", self.patch, "height and width of a patch in pixels", Range{1, 1 << 16});
    v.field("channels", self.channels, "colours of a pixel", Range{1, 1024});
    v.field("classes", self.classes, "number of classes", kClasses);
    v.field("layers", self.layers, "number of blocks", kLayers);
    v.field("pooling", self.pooling, "what stands for the whole image");
    v.nested("block", self.block, "each block");
  }
};

struct ModelOptions {
  std::variant<ClassifierOptions, MatcherOptions, TransformerOptions, LanguageModelOptions,
               TransformerLanguageOptions, TranslatorOptions, ImageClassifierOptions>
      model;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.variant("kind", self.model, "what the model does");
  }
};

// The fields that all classifiers share; null for other kinds.
SequenceOptions* sequence_options(ModelOptions& options);
const SequenceOptions* sequence_options(const ModelOptions& options);

// The fields that all language models share; null for other kinds.
TokenOptions* token_options(ModelOptions& options);
const TokenOptions* token_options(const ModelOptions& options);

// The Transformer that does the same task as a Mega classifier or matcher: same width and number of layers,
// and a feed-forward just wide enough for as many parameters in each block.
TransformerOptions transformer_like(const ModelOptions& options);
TransformerLanguageOptions transformer_like(const LanguageModelOptions& options);

// Throws where a number is out of range or fields do not fit each other; says which and what to do.
void validate(const ModelOptions& options);

}  // namespace mega
