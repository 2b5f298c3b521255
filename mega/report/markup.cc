#include "mega/report/markup.h"

#include "mega/base/utf8.h"

namespace mega {
namespace {

bool visible(char32_t point) {
  if (point < 0x20) return point == '\t' || point == '\n';
  return !(point >= 0x7F && point <= 0x9F) && (point & 0xFFFE) != 0xFFFE;
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (Character c; !text.empty(); text.remove_prefix(c.length)) {
    c = first_character(text);
    if (!c.valid || !visible(c.point)) {
      result += kReplacement;
      continue;
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
        result += text.substr(0, c.length);
    }
  }
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
