#include "mega/base/printable.h"

#include <cstdio>
#include <utility>

#include "mega/base/utf8.h"

namespace mega {
namespace {

bool is_control(char32_t point) { return point < 0x20 || (point >= 0x7F && point < 0xA0); }

std::string escaped(char32_t point) {
  if (point == U'\n') return "\\n";
  if (point == U'\r') return "\\r";
  if (point == U'\t') return "\\t";
  char text[16];
  std::snprintf(text, sizeof text, point < 0x80 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(point));
  return text;
}

std::string escape(std::string_view text, std::string_view kept) {
  std::string safe;
  while (!text.empty()) {
    const Character next = first_character(text);
    if (!next.valid)
      safe += kReplacement;
    else if (is_control(next.point) && kept.find(text.front()) == std::string_view::npos)
      safe += escaped(next.point);
    else
      safe += text.substr(0, next.length);
    text.remove_prefix(next.length);
  }
  return safe;
}

}  // namespace

std::string printable(std::string_view text) { return escape(text, ""); }

std::string printable_lines(std::string_view text) { return escape(text, "\n\t"); }

std::string PrintableStream::add(std::string_view piece) {
  waiting_ += piece;
  const size_t whole = waiting_.size() - incomplete_bytes(waiting_);
  const std::string shown = printable_lines(std::string_view(waiting_).substr(0, whole));
  waiting_.erase(0, whole);
  return shown;
}

std::string PrintableStream::finish() { return printable_lines(std::exchange(waiting_, {})); }

}  // namespace mega
