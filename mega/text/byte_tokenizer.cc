#include "mega/text/byte_tokenizer.h"

#include "mega/base/utf8.h"
#include "mega/text/tokens.h"

namespace mega {
namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  // The newline has a number too, which no text makes (it is </s>), so that byte b is kFirstSymbol + b.
  int64_t size() const override { return kFirstSymbol + 256; }

  void encode_line(std::string_view line, std::vector<int32_t>& tokens) const override {
    for (const char byte : line) tokens.push_back(kFirstSymbol + static_cast<unsigned char>(byte));
  }

  std::string vocabulary() const override { return ""; }

 protected:
  std::string symbol_text(int32_t token, bool /*begins_line*/) const override {
    if (token == kUnknown) return std::string(kReplacement);
    return std::string(1, static_cast<char>(token - kFirstSymbol));
  }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace mega
