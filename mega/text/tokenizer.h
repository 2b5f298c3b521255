// Text as token numbers and back, for every model that reads or writes text.
//
// Numbers are the released ones (mega/text/tokens.h): four specials, then the symbols: bytes in their
// order, characters, words and symbols of BPE with frequent ones first, pieces as SentencePiece sorts them.
//
// There are two ways to read a text. Running text, of which a language model predicts every next token, is a
// sequence of lines: a newline is </s>, and nothing is added that the text does not have. A document, of
// which a classifier or matcher says one thing, is one sequence that ends with </s>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/text/tokenizer_options.h"
#include "mega/text/tokens.h"

namespace mega {

// Immutable after construction; safe to use from many threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Token types with the specials; tokens are 0 .. size() - 1.
  virtual int64_t size() const = 0;

  // Appends the tokens of a line or of a part of one; `line` has no newline.
  virtual void encode_line(std::string_view line, std::vector<Token>& tokens) const = 0;

  // What the model file keeps: make_tokenizer makes the same tokenizer again. Empty where it is fixed.
  virtual std::string vocabulary() const = 0;

  // What a token adds to the text. `begins_line`: it is the first of its line, or goes on with a word, so
  // that no blank goes before it. </s> is a newline, <s> and <pad> are nothing; <unk> is the word <unk> where
  // tokens are words or parts of them (BPE), or U+FFFD in all other units. Error where there is no such
  // token.
  std::string text(Token token, bool begins_line) const;

  // Whether the token is a part of a word that the next token goes on with.
  virtual bool ends_inside_word(Token /*token*/) const { return false; }

  // Running text: a newline becomes </s>; a last line without one stays without.
  std::vector<Token> encode(std::string_view text) const;
  std::string decode(std::span<const Token> tokens) const;

  // A document: its tokens and </s>, at most `max_length` in all (0: any number). A line break within is a
  // blank, and at the end nothing (see as_line); only bytes have a token of their own for it.
  std::vector<Token> encode_document(std::string_view text, int64_t max_length) const;
  // How many tokens that gives; quick for bytes and ListOps, which are counted without making tokens.
  int64_t document_length(std::string_view text, int64_t max_length) const;

 protected:
  // The text of <unk> or of a symbol: `token` is within kUnknown .. size() - 1.
  virtual std::string symbol_text(Token token, bool begins_line) const = 0;

  // Appends the tokens of a document without its </s>: all, or no fewer than the first `most`.
  virtual void encode_text(std::string_view text, size_t most, std::vector<Token>& tokens) const;
  // How many that gives.
  virtual size_t count_text(std::string_view text, size_t most) const;
};

// A document as a single line: line breaks (LF or CRLF) become blanks, those at the end are dropped.
std::string as_line(std::string_view document);

// The tokenizer of a model: `vocabulary` as it stands in the model file. Error where it is damaged; `where`
// names it.
std::unique_ptr<Tokenizer> make_tokenizer(TextUnits units, std::string_view vocabulary,
                                          const std::string& where);

// The tokenizer that needs no text to learn from: of a fixed vocabulary, or of the model that the options
// name. Null where there is none.
std::unique_ptr<Tokenizer> make_ready_tokenizer(const TokenizerOptions& options);

// Makes a tokenizer from text: add every line of the training text, then finish.
class TokenizerBuilder {
 public:
  virtual ~TokenizerBuilder() = default;

  // A line without its newline, or a part of a very long one.
  virtual void add_line(std::string_view line) = 0;
  virtual std::unique_ptr<Tokenizer> finish() = 0;
};

// Bytes of a corpus that SentencePiece learns from: enough for thousands of pieces. Learning takes some
// seconds per megabyte, but up to a minute where there are no blanks between words.
inline constexpr size_t kUsualSample = size_t{16} << 20;

// For what make_ready_tokenizer does not make; null for a fixed vocabulary. `sample`: SentencePiece learns
// from so many bytes where the text is longer.
std::unique_ptr<TokenizerBuilder> make_tokenizer_builder(const TokenizerOptions& options,
                                                         size_t sample = kUsualSample);

}  // namespace mega
