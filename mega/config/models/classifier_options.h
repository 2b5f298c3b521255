// Classifiers and matchers: models that read whole sequences and say one thing about each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/model_kind.h"
#include "mega/config/models/layer_options.h"
#include "mega/config/models/model_ranges.h"

namespace mega {

// What a sequence is made of: token numbers with an embedding, or real numbers (grey values of pixels,
// samples of sound, the channels of a series), which become x * weight + bias.
enum class InputKind { tokens, pixels, samples, series };

// What is predicted: one of the classes, or as many real numbers.
enum class Objective { classification, regression };

// What stands for the whole sequence: the mean over its positions; the first of them, which of texts is a
// token of its own (cls) or the text's own first one; or the last one (of an LSTM, the last state of each
// direction).
enum class Pooling { mean, cls, first, last };

// Between the two layers of the head: as released, or as Hugging Face's models have it.
enum class HeadActivation { gelu, tanh };

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
  static constexpr auto names = enum_table<Pooling>(
      {{Pooling::mean, "mean"}, {Pooling::cls, "cls"}, {Pooling::first, "first"}, {Pooling::last, "last"}});
};
template <>
struct EnumNames<HeadActivation> {
  static constexpr auto names =
      enum_table<HeadActivation>({{HeadActivation::gelu, "gelu"}, {HeadActivation::tanh, "tanh"}});
};

// What all models have in common that say one thing about each example.
struct PredictorOptions : ModelKind {
  Objective objective = Objective::classification;
  int64_t classes = 2;
};

// What all models have in common that read whole sequences and say one thing about each.
struct SequenceOptions : PredictorOptions {
  InputKind input = InputKind::tokens;
  int64_t vocabulary = 264;
  int64_t channels = 1;
  int64_t layers = 4;
  int64_t head = 256;
  HeadActivation head_activation = HeadActivation::gelu;
  bool head_bias = false;
  Pooling pooling = Pooling::mean;

  ModelTask task() const override { return ModelTask::sequence; }
  void check() const override;
  // Whether the model itself puts what stands for the sequence before it; with pooling = cls.
  virtual bool has_own_cls() const { return false; }
  // Takes what the task decides: input and output, not the size.
  void take_task(const SequenceOptions& other);

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("input", self.input, "what a sequence is made of");
    v.field("vocabulary", self.vocabulary, "number of token types, with input = tokens", kVocabulary);
    v.field("channels", self.channels, "real numbers at each position, with input = series",
            Range{1, 1 << 16});
    v.field("objective", self.objective, "predict a class, or real numbers");
    v.field("classes", self.classes, "number of classes, or of real numbers to predict", kClasses);
    v.field("layers", self.layers, "number of blocks", kLayers);
    v.field("head", self.head,
            "width of the classifier's hidden layer; 0: none, and the output has a bias (baselines)",
            Range{0, 1 << 20});
    v.field("head_activation", self.head_activation, "activation of that hidden layer");
    v.field("head_bias", self.head_bias, "a learned bias for each output");
    v.field("pooling", self.pooling, "what stands for the whole sequence");
  }
};

// Tokens that a model of whole sequences has beside those of its texts: the last number of its vocabulary is
// <CLS>, as released, also where it stands before no text; with pooling = first there is none.
int64_t reserved_tokens(const SequenceOptions& options);

// The token that stands before each text of such a model; -1 for none.
int32_t cls_token(const SequenceOptions& options);

// A Mega encoder with a classifier on top: what a classifier of one sequence and a matcher of two have in
// common.
struct EncoderClassifierOptions : SequenceOptions {
  bool normalize_embedding = false;
  bool final_norm = true;
  BlockOptions block;

  StackOptions stack() const;

  bool runs_in_engine() const override { return true; }
  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  int64_t max_length() const override { return block.max_positions; }
  void make_for(int64_t length) override;
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    SequenceOptions::visit(self, v);
    v.field("normalize_embedding", self.normalize_embedding,
            "norm after the embedding; needs postnorm blocks");
    v.field("final_norm", self.final_norm, "norm after the last block, if blocks are prenorm");
    v.nested("block", self.block, "each block");
  }
};

struct ClassifierOptions : EncoderClassifierOptions {
  static constexpr const char* kind = "classifier";

  ClassifierOptions() = default;
  explicit ClassifierOptions(const EncoderClassifierOptions& options) : EncoderClassifierOptions(options) {}
};

// Two documents through the same encoder; the head sees both, one after the other.
struct MatcherOptions : EncoderClassifierOptions {
  static constexpr const char* kind = "matcher";

  MatcherOptions() = default;
  explicit MatcherOptions(const EncoderClassifierOptions& options) : EncoderClassifierOptions(options) {}

  int64_t document_count() const override { return 2; }
};

// The tensors of an input embedding NAME, and of the head over so many representations of the given width.
void add_input_embedding_tensors(TensorList& list, const std::string& name, const SequenceOptions& options,
                                 int64_t width);
void add_head_tensors(TensorList& list, const SequenceOptions& options, int64_t documents, int64_t width);

}  // namespace mega
