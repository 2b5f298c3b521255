#include "mega/text/translation_text.h"

#include <algorithm>
#include <utility>

#include "mega/base/error.h"
#include "mega/text/moses_detokenizer.h"
#include "mega/text/moses_tokenizer.h"
#include "mega/text/punctuation.h"

namespace mega {

TranslationText::TranslationText(TranslationTextOptions options, std::shared_ptr<const Tokenizer> tokenizer)
    : options_(std::move(options)), tokenizer_(std::move(tokenizer)) {
  require(tokenizer_ != nullptr, "a text to be translated needs a tokenizer");
}

std::string TranslationText::prepare(std::string_view sentence, const TranslationTextOptions& options) {
  std::string text = as_line(sentence);
  if (options.normalize) text = normalize_punctuation(text, options.language);
  if (options.tokenize == WordCutting::none) return text;
  return moses_tokenize(text, {options.language, options.split_hyphens, options.escape});
}

std::string TranslationText::restore(std::string_view sentence, const TranslationTextOptions& options) {
  if (options.detokenize == WordCutting::none) return std::string(sentence);
  return moses_detokenize(sentence, options.language);
}

std::vector<Token> TranslationText::encode(std::string_view sentence) const {
  std::vector<Token> tokens;
  tokenizer_->encode_line(prepare(sentence, options_), tokens);
  return tokens;
}

std::string TranslationText::decode(std::span<const Token> tokens) const {
  const auto end = std::find(tokens.begin(), tokens.end(), kEnd);
  return restore(tokenizer_->decode({tokens.begin(), end}), options_);
}

}  // namespace mega
