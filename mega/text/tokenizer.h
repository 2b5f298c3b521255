// Running text as token numbers and back, for language models.
//
// Numbers are the released ones (mega/text/tokens.h): four specials, then the symbols: bytes in their
// order, characters and words with frequent ones first, pieces as SentencePiece sorts them. A newline is
// </s>: each line of a corpus ends with one, and nothing is added that the text does not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/config/input_options.h"

namespace mega {

// Immutable after construction; safe to use from many threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Token types with the specials; tokens are 0 .. size() - 1.
  virtual int64_t size() const = 0;

  // Appends the tokens of a line or of a part of one; `line` has no newline.
  virtual void encode_line(std::string_view line, std::vector<int32_t>& tokens) const = 0;

  // What the model file keeps: make_tokenizer makes the same tokenizer again. Empty for bytes.
  virtual std::string vocabulary() const = 0;

  // What a token adds to the text. `begins_line`: it is the first of its line, so that no blank goes before a
  // word. </s> is a newline, <s> and <pad> are nothing; <unk> is the word <unk>, or U+FFFD in all other
  // units. Error where there is no such token.
  std::string text(int32_t token, bool begins_line) const;

  // The whole text: a newline becomes </s>; a last line without one stays without.
  std::vector<int32_t> encode(std::string_view text) const;
  std::string decode(std::span<const int32_t> tokens) const;

 protected:
  // The text of <unk> or of a symbol: `token` is within kUnknown .. size() - 1.
  virtual std::string symbol_text(int32_t token, bool begins_line) const = 0;
};

// The tokenizer of a model: `vocabulary` as it stands in the model file. Error where it is damaged; `where`
// names it.
std::unique_ptr<Tokenizer> make_tokenizer(LanguageUnits units, std::string_view vocabulary,
                                          const std::string& where);

// The tokenizer that needs no text to learn from: bytes, or the model that the options name. Null where there
// is none.
std::unique_ptr<Tokenizer> make_ready_tokenizer(const LanguageInput& options);

// Makes a tokenizer from text: add every line of the training text, then finish.
class TokenizerBuilder {
 public:
  virtual ~TokenizerBuilder() = default;

  // A line without its newline, or a part of a very long one.
  virtual void add_line(std::string_view line) = 0;
  virtual std::unique_ptr<Tokenizer> finish() = 0;
};

// For what make_ready_tokenizer does not make; null for bytes.
std::unique_ptr<TokenizerBuilder> make_tokenizer_builder(const LanguageInput& options);

}  // namespace mega
