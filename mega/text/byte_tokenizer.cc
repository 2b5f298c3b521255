#include "mega/text/byte_tokenizer.h"

#include "mega/base/utf8.h"

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

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace mega
