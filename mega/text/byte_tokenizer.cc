#include "mega/text/byte_tokenizer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "mega/base/error.h"
#include "mega/base/utf8.h"
#include "mega/text/dictionary.h"

namespace mega {
namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  // The newline has a number too, so that byte b is kFirstSymbol + b. Running text does not make it (there it
  // is
  // </s>), documents do.
  int64_t size() const override { return kFirstSymbol + 256; }

  void encode_line(std::string_view line, std::vector<Token>& tokens) const override {
    tokens.reserve(tokens.size() + line.size());
    for (const char byte : line) tokens.push_back(kFirstSymbol + static_cast<unsigned char>(byte));
  }

  std::string vocabulary() const override { return ""; }

 protected:
  std::string symbol_text(Token token, bool /*begins_line*/) const override {
    if (token == kUnknown) return std::string(kReplacement);
    return std::string(1, static_cast<char>(token - kFirstSymbol));
  }

  void encode_text(std::string_view text, size_t most, std::vector<Token>& tokens) const override {
    encode_line(text.substr(0, most), tokens);
  }

  size_t count_text(std::string_view text, size_t /*most*/) const override { return text.size(); }
};

// -1 where the symbol is no number of a byte.
int byte_of(std::string_view symbol) {
  int byte = -1;
  const auto [end, error] = std::from_chars(symbol.data(), symbol.data() + symbol.size(), byte);
  const bool is_number = error == std::errc() && end == symbol.data() + symbol.size();
  return is_number && byte >= 0 && byte < 256 && std::to_string(byte) == symbol ? byte : -1;
}

class NumberedByteTokenizer final : public Tokenizer {
 public:
  NumberedByteTokenizer(std::string_view vocabulary, const std::string& where) : vocabulary_(vocabulary) {
    require(is_byte_vocabulary(vocabulary) && vocabulary.ends_with('\n'), where,
            ": bytes need no vocabulary but that of an imported model: their decimal numbers, one per line");
    tokens_.fill(kUnknown);
    for (const std::string& symbol : lines_of(vocabulary)) {
      const int byte = byte_of(symbol);
      if (byte >= 0) {
        Token& token = tokens_[static_cast<size_t>(byte)];
        require(token == kUnknown, where, ":", bytes_.size() + 1, ": byte ", byte, " has a number already");
        token = kFirstSymbol + static_cast<Token>(bytes_.size());
      }
      bytes_.push_back(byte);
    }
  }

  int64_t size() const override { return kFirstSymbol + std::ssize(bytes_); }

  void encode_line(std::string_view line, std::vector<Token>& tokens) const override {
    tokens.reserve(tokens.size() + line.size());
    for (const char byte : line) tokens.push_back(tokens_[static_cast<unsigned char>(byte)]);
  }

  std::string vocabulary() const override { return vocabulary_; }

 protected:
  std::string symbol_text(Token token, bool /*begins_line*/) const override {
    const int byte = token == kUnknown ? -1 : bytes_[static_cast<size_t>(token - kFirstSymbol)];
    return byte < 0 ? std::string(kReplacement) : std::string(1, static_cast<char>(byte));
  }

  void encode_text(std::string_view text, size_t most, std::vector<Token>& tokens) const override {
    encode_line(text.substr(0, most), tokens);
  }

  size_t count_text(std::string_view text, size_t /*most*/) const override { return text.size(); }

 private:
  const std::string vocabulary_;
  std::array<Token, 256> tokens_{};
  std::vector<int> bytes_;  // by symbol; -1 for none
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer(std::string_view vocabulary, const std::string& where) {
  return std::make_unique<NumberedByteTokenizer>(vocabulary, where);
}

bool is_byte_vocabulary(std::string_view vocabulary) {
  const std::vector<std::string> symbols = lines_of(vocabulary);
  return !symbols.empty() && byte_of(symbols.front()) >= 0 &&
         std::all_of(symbols.begin(), symbols.end(),
                     [](const std::string& symbol) { return byte_of(symbol) >= 0 || is_filling(symbol); });
}

std::unique_ptr<Tokenizer> make_byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace mega
