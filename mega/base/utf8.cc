#include "mega/base/utf8.h"

#include <algorithm>

namespace mega {
namespace {

// Length in bytes of a character with this lead byte; 0 if it is not a lead byte.
size_t length_by(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// The second byte determines overlong forms, surrogates and code points beyond U+10FFFF.
bool can_be_second(unsigned char lead, unsigned char second) {
  const unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= least && second <= most;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = length_by(lead);
  if (length == 0) return {1, 0, false};
  if (length == 1) return {1, lead, true};
  char32_t point = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (i >= text.size() || !continues_character(text[i])) return {i, 0, false};
    point = point << 6 | (byte(i) & 0x3F);
  }
  return {length, point, can_be_second(lead, byte(1))};
}

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const Character first = first_character(text);
  return first.valid ? first.length : 0;
}

std::string_view whole_characters(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  // More bytes that continue a character than any has are none of UTF-8: cut there as well as anywhere.
  size_t end = most;
  while (end > 0 && most - end < kLongestCharacter && continues_character(text[end])) --end;
  return text.substr(0, continues_character(text[end]) ? most : end);
}

size_t incomplete_bytes(std::string_view text) {
  const auto from_end = [&](size_t n) { return text[text.size() - n]; };
  for (size_t n = 1; n <= std::min(kLongestCharacter - 1, text.size()); ++n) {
    if (continues_character(from_end(n))) continue;
    const auto lead = static_cast<unsigned char>(from_end(n));
    const bool possible = n == 1 || can_be_second(lead, static_cast<unsigned char>(from_end(n - 1)));
    return possible && length_by(lead) > n ? n : 0;
  }
  return 0;
}

std::string valid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character first = first_character(text);
    result += first.valid ? text.substr(0, first.length) : kReplacement;
    text.remove_prefix(first.length);
  }
  return result;
}

void append_utf8(std::string& text, char32_t point) {
  const auto append = [&](char32_t bits) { text += static_cast<char>(static_cast<unsigned char>(bits)); };
  const auto append_rest = [&](int shift) { append(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    append(point);
  } else if (point < 0x800) {
    append(0xC0 | point >> 6);
    append_rest(0);
  } else if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
    text += kReplacement;
  } else if (point < 0x10000) {
    append(0xE0 | point >> 12);
    append_rest(6);
    append_rest(0);
  } else {
    append(0xF0 | point >> 18);
    append_rest(12);
    append_rest(6);
    append_rest(0);
  }
}

}  // namespace mega
