#include "mega/text/tokenizer.h"

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/text/byte_tokenizer.h"
#include "mega/text/sentence_piece.h"
#include "mega/text/symbol_tokenizer.h"
#include "mega/text/tokens.h"

namespace mega {

std::string Tokenizer::text(int32_t token, bool begins_line) const {
  require(token >= 0 && token < size(), "token ", token, " is none of this vocabulary, which has 0 to ",
          size() - 1);
  if (token == kStart || token == kPad) return "";
  if (token == kEnd) return "\n";
  return symbol_text(token, begins_line);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> tokens;
  while (true) {
    const size_t end = text.find('\n');
    encode_line(text.substr(0, end), tokens);
    if (end == std::string_view::npos) return tokens;
    tokens.push_back(kEnd);
    text.remove_prefix(end + 1);
  }
}

std::string Tokenizer::decode(std::span<const int32_t> tokens) const {
  std::string decoded;
  for (const int32_t token : tokens) decoded += text(token, decoded.empty() || decoded.back() == '\n');
  return decoded;
}

std::unique_ptr<Tokenizer> make_tokenizer(LanguageUnits units, std::string_view vocabulary,
                                          const std::string& where) {
  switch (units) {
    case LanguageUnits::bytes:
      require(vocabulary.empty(), where, ": bytes need no vocabulary, but here is one of ", vocabulary.size(),
              " bytes");
      return make_byte_tokenizer();
    case LanguageUnits::characters:
    case LanguageUnits::words:
      return make_symbol_tokenizer(units, vocabulary, where);
    case LanguageUnits::sentencepiece:
      return make_sentence_piece_tokenizer(vocabulary, where);
  }
  fail(where, ": no such units of language");
}

std::unique_ptr<Tokenizer> make_ready_tokenizer(const LanguageInput& options) {
  if (options.model.empty())
    return options.units == LanguageUnits::bytes ? make_tokenizer(options.units, "", "") : nullptr;
  require(options.units == LanguageUnits::sentencepiece, "input.model = ", in_quotes(options.model),
          " is a model of SentencePiece, but input.units = ", to_string(options.units),
          "; set input.units=sentencepiece, or name no model");
  return load_sentence_piece_tokenizer(options);
}

std::unique_ptr<TokenizerBuilder> make_tokenizer_builder(const LanguageInput& options) {
  switch (options.units) {
    case LanguageUnits::bytes:
      return nullptr;
    case LanguageUnits::characters:
    case LanguageUnits::words:
      return make_symbol_builder(options);
    case LanguageUnits::sentencepiece:
      return make_sentence_piece_builder(options);
  }
  fail("no such units of language");
}

}  // namespace mega
