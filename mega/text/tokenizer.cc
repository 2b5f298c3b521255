#include "mega/text/tokenizer.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/text/bpe_tokenizer.h"
#include "mega/text/byte_tokenizer.h"
#include "mega/text/listops_tokenizer.h"
#include "mega/text/subwords/sentence_piece.h"
#include "mega/text/symbol_tokenizer.h"

namespace mega {
namespace {

// Tokens of a document that are read before its </s>; a length of 0 is any number.
size_t most_before_end(int64_t max_length) {
  return static_cast<size_t>(max_length > 0 ? max_length : INT64_MAX) - 1;
}

}  // namespace

std::string Tokenizer::text(Token token, bool begins_line) const {
  require(token >= 0 && token < size(), "token ", token, " is none of this vocabulary, which has 0 to ",
          size() - 1);
  if (token == kStart || token == kPad) return "";
  if (token == kEnd) return "\n";
  return symbol_text(token, begins_line);
}

std::vector<Token> Tokenizer::encode(std::string_view text) const {
  std::vector<Token> tokens;
  while (true) {
    const size_t end = text.find('\n');
    encode_line(text.substr(0, end), tokens);
    if (end == std::string_view::npos) return tokens;
    tokens.push_back(kEnd);
    text.remove_prefix(end + 1);
  }
}

std::string Tokenizer::decode(std::span<const Token> tokens) const {
  std::string decoded;
  bool inside_word = false;
  for (const Token token : tokens) {
    decoded += text(token, inside_word || decoded.empty() || decoded.back() == '\n');
    inside_word = ends_inside_word(token);
  }
  return decoded;
}

std::vector<Token> Tokenizer::encode_document(std::string_view text, int64_t max_length) const {
  const size_t most = most_before_end(max_length);
  std::vector<Token> tokens;
  encode_text(text, most, tokens);
  tokens.resize(std::min(tokens.size(), most));
  tokens.push_back(kEnd);
  return tokens;
}

int64_t Tokenizer::document_length(std::string_view text, int64_t max_length) const {
  const size_t most = most_before_end(max_length);
  return static_cast<int64_t>(std::min(count_text(text, most), most) + 1);
}

void Tokenizer::encode_text(std::string_view text, size_t /*most*/, std::vector<Token>& tokens) const {
  encode_line(as_line(text), tokens);
}

size_t Tokenizer::count_text(std::string_view text, size_t most) const {
  std::vector<Token> tokens;
  encode_text(text, most, tokens);
  return tokens.size();
}

std::string as_line(std::string_view document) {
  const size_t last = document.find_last_not_of("\r\n");
  document = document.substr(0, last == std::string_view::npos ? 0 : last + 1);
  std::string line;
  line.reserve(document.size());
  while (true) {
    const size_t end = document.find('\n');
    std::string_view part = document.substr(0, end);
    if (end == std::string_view::npos) return line += part;
    if (part.ends_with('\r')) part.remove_suffix(1);
    line += part;
    line += ' ';
    document.remove_prefix(end + 1);
  }
}

std::unique_ptr<Tokenizer> make_tokenizer(TextUnits units, std::string_view vocabulary,
                                          const std::string& where) {
  switch (units) {
    case TextUnits::bytes:
      return vocabulary.empty() ? make_byte_tokenizer() : make_byte_tokenizer(vocabulary, where);
    case TextUnits::characters:
    case TextUnits::words:
      return make_symbol_tokenizer(units, vocabulary, where);
    case TextUnits::sentencepiece:
      return make_sentence_piece_tokenizer(vocabulary, where);
    case TextUnits::listops:
      return vocabulary.empty() ? make_listops_tokenizer() : make_listops_tokenizer(vocabulary, where);
    case TextUnits::bpe:
      return make_bpe_tokenizer(vocabulary, where);
  }
  fail(where, ": no such units of text");
}

std::unique_ptr<Tokenizer> make_ready_tokenizer(const TokenizerOptions& options) {
  const bool is_bpe = options.units == TextUnits::bpe;
  require(options.dictionary.empty() || (is_bpe && !options.model.empty()),
          "input.dictionary = ", in_quotes(options.dictionary),
          " has the symbols that BPE codes make; set input.units=bpe and name the codes: input.model=FILE");
  if (options.model.empty())
    return has_fixed_vocabulary(options.units) ? make_tokenizer(options.units, "", "") : nullptr;
  if (is_bpe) return options.dictionary.empty() ? nullptr : load_bpe_tokenizer(options);
  require(options.units == TextUnits::sentencepiece, "input.model = ", in_quotes(options.model),
          " is a model of SentencePiece or a file of BPE codes, but input.units = ", to_string(options.units),
          "; set input.units=sentencepiece or bpe, or name no model");
  return load_sentence_piece_tokenizer(options);
}

std::unique_ptr<TokenizerBuilder> make_tokenizer_builder(const TokenizerOptions& options, size_t sample) {
  switch (options.units) {
    case TextUnits::bytes:
    case TextUnits::listops:
      return nullptr;
    case TextUnits::characters:
    case TextUnits::words:
      return make_symbol_builder(options);
    case TextUnits::sentencepiece:
      return make_sentence_piece_builder(options, sample);
    case TextUnits::bpe:
      return make_bpe_builder(options);
  }
  fail("no such units of text");
}

}  // namespace mega
