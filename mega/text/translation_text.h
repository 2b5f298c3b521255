// Sentences of one language on their way to tokens and back: punctuation normalised, cut into words as Moses
// does, then a tokenizer's units; and from tokens to running text. Source and target of a translator have one
// each.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/text/tokenizer.h"

namespace mega {

// How words are cut before a tokenizer sees them: not at all, or as Moses' tokenizer.perl does. Text that is
// cut already, as published parallel texts often are, needs none, but `moses` to be joined again.
enum class WordCutting { none, moses };

template <>
struct EnumNames<WordCutting> {
  static constexpr auto names =
      enum_table<WordCutting>({{WordCutting::none, "none"}, {WordCutting::moses, "moses"}});
};

struct TranslationTextOptions {
  std::string language = "";
  bool normalize = false;
  WordCutting tokenize = WordCutting::none;
  WordCutting detokenize = WordCutting::none;
  bool split_hyphens = false;
  bool escape = true;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("language", self.language, "code of the language, such as en, de, fr, ro or cs");
    v.field("normalize", self.normalize, "plain quotation marks, dashes and blanks (normalize-punctuation)");
    v.field("tokenize", self.tokenize, "how words and marks are cut apart before they become tokens");
    v.field("detokenize", self.detokenize, "how they are joined again when tokens become text");
    v.field("split_hyphens", self.split_hyphens, "cut words at hyphens, as @-@ (moses)");
    v.field("escape", self.escape, "write & | < > ' \" [ ] as entities such as &apos; (moses)");
  }
};

// Immutable; safe to use from many threads.
class TranslationText {
 public:
  TranslationText(TranslationTextOptions options, std::shared_ptr<const Tokenizer> tokenizer);

  // A sentence as the tokenizer reads it: what a vocabulary is to be learnt from.
  static std::string prepare(std::string_view sentence, const TranslationTextOptions& options);
  // Running text again, of a sentence in that form.
  static std::string restore(std::string_view sentence, const TranslationTextOptions& options);

  // The tokens of a sentence, without </s>; line breaks within are blanks.
  std::vector<Token> encode(std::string_view sentence) const;
  // The sentence up to the first </s>.
  std::string decode(std::span<const Token> tokens) const;

  const TranslationTextOptions& options() const { return options_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  const TranslationTextOptions options_;
  const std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace mega
