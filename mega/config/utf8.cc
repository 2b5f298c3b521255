#include "mega/config/utf8.h"

namespace mega {
namespace {

bool continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

size_t utf8_length(std::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  if (text.empty()) return 0;
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4 || !continues(byte(1))) return 0;
  if (lead < 0xE0) return 2;
  // Only the second byte tells the forbidden ranges of three and four bytes.
  const unsigned char second = byte(1);
  if (lead == 0xE0 && second < 0xA0) return 0;  // U+0800 is the first that needs three
  if (lead == 0xED && second > 0x9F) return 0;  // surrogates
  if (!continues(byte(2))) return 0;
  if (lead < 0xF0) return 3;
  if (lead == 0xF0 && second < 0x90) return 0;  // U+10000 is the first that needs four
  if (lead == 0xF4 && second > 0x8F) return 0;  // U+10FFFF is the last of all
  return continues(byte(3)) ? 4 : 0;
}

}  // namespace mega
