// What a model reads, and how raw input becomes the numbers it was trained on. Part of the model file: what
// is predicted tomorrow is encoded as what was learnt today.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/text/tokenizer_options.h"
#include "mega/text/translation_text.h"

namespace mega {

// What real numbers are standardised with, over the training examples: nothing, mean and deviation of each
// channel, or of each position of each channel (Speech Commands as released).
enum class Standardize { none, channel, position };

template <>
struct EnumNames<Standardize> {
  static constexpr auto names = enum_table<Standardize>(
      {{Standardize::none, "none"}, {Standardize::channel, "channel"}, {Standardize::position, "position"}});
};

inline constexpr Range kLength{0, 1e9};

// Texts, or pairs of them, that a model says one thing about.
struct TextInput : TokenizerOptions {
  static constexpr const char* kind = "text";
  int64_t max_length = 0;

  TextInput() = default;
  TextInput(TextUnits text_units, int64_t length) : max_length(length) { units = text_units; }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    TokenizerOptions::visit(self, v);
    v.field("max_length", self.max_length, "tokens that are read of a text; 0 reads all", kLength);
  }
};

// How a picture is scaled: averages and straight lines, or sharper, with Pillow's cubic.
enum class ImageFilter { bilinear, bicubic };

template <>
struct EnumNames<ImageFilter> {
  static constexpr auto names =
      enum_table<ImageFilter>({{ImageFilter::bilinear, "bilinear"}, {ImageFilter::bicubic, "bicubic"}});
};

// Grey values or colours, row by row. Colours become luma (ITU-R 601) where there is one channel; another
// size is scaled to this one.
struct ImageInput {
  static constexpr const char* kind = "image";
  int64_t height = 32;
  int64_t width = 32;
  double mean = 0.5;
  double deviation = 0.5;
  int64_t channels = 1;
  std::vector<double> means = {};
  std::vector<double> deviations = {};
  ImageFilter filter = ImageFilter::bilinear;
  double crop = 0.0;

  // Of a channel.
  double mean_of(int64_t channel) const;
  double deviation_of(int64_t channel) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("height", self.height, "rows of pixels", Range{1, 1 << 16});
    v.field("width", self.width, "pixels in a row", Range{1, 1 << 16});
    v.field("mean", self.mean, "taken off a value between 0 and 1", Range{-1e3, 1e3});
    v.field("deviation", self.deviation, "then divides it", Range{1e-6, 1e3});
    v.field("channels", self.channels, "1 for shades of grey, 3 for red, green and blue", Range{1, 3});
    v.field("means", self.means, "a mean for each channel, in place of `mean`", Range{-1e3, 1e3});
    v.field("deviations", self.deviations, "the same for `deviation`", Range{1e-6, 1e3});
    v.field("filter", self.filter, "how pictures of another size are scaled");
    v.field("crop", self.crop,
            "share of the scaled picture's side that is kept, around its centre, e.g. 0.875; 0 scales the "
            "whole picture, whatever its shape",
            Range{0, 1});
  }
};

struct AudioInput {
  static constexpr const char* kind = "audio";
  int64_t rate = 16000;
  int64_t length = 16000;
  Standardize standardize = Standardize::channel;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("rate", self.rate, "samples per second; other rates are resampled", Range{1, 1e6});
    v.field("length", self.length,
            "samples of a clip: longer ones are cut, shorter ones filled with silence; "
            "0 takes each as it is",
            kLength);
    v.field("standardize", self.standardize, "mean and deviation that samples are standardised with");
  }
};

struct SeriesInput {
  static constexpr const char* kind = "series";
  int64_t channels = 1;
  int64_t max_length = 0;
  Standardize standardize = Standardize::channel;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("channels", self.channels, "numbers at each position", Range{1, 1 << 16});
    v.field("max_length", self.max_length, "positions that are read of a series; 0 reads all", kLength);
    v.field("standardize", self.standardize, "mean and deviation that numbers are standardised with");
  }
};

// Running text, of which a model predicts every next token.
struct LanguageInput : TokenizerOptions {
  static constexpr const char* kind = "language";
};

// Lines in one language that become lines in another. Each side is the tokens of a line and </s>; both have
// one vocabulary (joint), or each has its own, learnt from its side alone.
struct TranslationInput : TokenizerOptions {
  static constexpr const char* kind = "translation";
  std::string source_language;
  std::string target_language;
  bool joint = true;
  std::string target_model;
  bool normalize = false;
  WordCutting tokenize = WordCutting::none;
  WordCutting detokenize = WordCutting::none;
  int64_t max_length = 1024;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    TokenizerOptions::visit(self, v);
    v.field("source_language", self.source_language,
            "language to translate from, as it ends file names (en); empty: what the files' names say");
    v.field("target_language", self.target_language, "language to translate to (de)");
    v.field("joint", self.joint, "one vocabulary for both languages; false: each has its own");
    v.field("target_model", self.target_model,
            "the target's SentencePiece model, where each language has its own; `model` is the source's");
    v.field("normalize", self.normalize,
            "plain quotation marks, dashes and blanks, before lines become tokens");
    v.field("tokenize", self.tokenize, "how words and marks are cut apart, before lines become tokens");
    v.field("detokenize", self.detokenize,
            "how they are joined again, when tokens become text; of text that was cut before, this alone");
    v.field("max_length", self.max_length,
            "most tokens of a line, with its end: longer pairs are not trained on, and elsewhere cut; 0: any",
            kLength);
  }
};

struct InputOptions {
  std::variant<TextInput, ImageInput, AudioInput, SeriesInput, LanguageInput, TranslationInput> input;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.variant("kind", self.input, "what a model reads");
  }
};

// How text becomes tokens; null for input that is no text. Of a translator's: how its source does.
const TokenizerOptions* tokenizer_options(const InputOptions& options);

// How the target of a translator becomes tokens, where each language has its own vocabulary.
TokenizerOptions target_options(const TranslationInput& input);

// What is done to lines of either language beside cutting them into tokens.
TranslationTextOptions source_text(const TranslationInput& input);
TranslationTextOptions target_text(const TranslationInput& input);

// None for texts and images.
Standardize standardization(const InputOptions& options);

// Throws where fields do not fit each other.
void validate(const InputOptions& options);

// Numbers at each position.
int64_t channels_of(const InputOptions& options);

}  // namespace mega
