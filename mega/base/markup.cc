#include "mega/base/markup.h"

#include <array>

namespace mega {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Character {
  size_t length;  // in bytes, at least 1
  char32_t point;
  bool valid;
};

Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {1, lead, true};
  const size_t length = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
  if (length == 1) return {1, 0, false};
  char32_t point = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (i >= text.size() || (byte(i) & 0xC0) != 0x80) return {i, 0, false};
    point = point << 6 | (byte(i) & 0x3F);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return {length, point, point >= kLeast[length] && point <= 0x10FFFF && !surrogate};
}

bool visible(char32_t point) {
  if (point < 0x20) return point == '\t' || point == '\n';
  return !(point >= 0x7F && point <= 0x9F) && (point & 0xFFFE) != 0xFFFE;
}

// Calls `take` with each character and its bytes.
template <class Take>
void for_each_character(std::string_view text, Take take) {
  while (!text.empty()) {
    const Character c = first_character(text);
    take(c, text.substr(0, c.length));
    text.remove_prefix(c.length);
  }
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_character(
      text, [&](const Character& c, std::string_view bytes) { result += c.valid ? bytes : kReplacement; });
  return result;
}

std::string escape_markup(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_character(text, [&](const Character& c, std::string_view bytes) {
    if (!c.valid || !visible(c.point)) {
      result += kReplacement;
      return;
    }
    switch (c.point) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += bytes;
    }
  });
  return result;
}

std::string shortened(std::string_view text, size_t most) {
  std::string result;
  for (size_t count = 0; !text.empty(); ++count) {
    const Character c = first_character(text);
    if (count + 1 >= most && c.length < text.size()) return result + "…";
    result += c.valid ? text.substr(0, c.length) : kReplacement;
    text.remove_prefix(c.length);
  }
  return result;
}

}  // namespace mega
