// Text as code points, for rules that look at neighbouring characters of any kind.
#pragma once

#include <string>
#include <string_view>

#include "mega/base/utf8.h"

namespace mega {

// What is no UTF-8 becomes U+FFFD.
inline std::u32string code_points(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    points += next.valid ? next.point : U'\uFFFD';
    text.remove_prefix(next.length);
  }
  return points;
}

inline std::string utf8_of(std::u32string_view points) {
  std::string text;
  text.reserve(points.size());
  for (const char32_t point : points) append_utf8(text, point);
  return text;
}

// Code points that `match` finds become others. `match(rest, result)` looks at what begins here; where it
// matches, it appends what is to stand there and returns how many points that replaces, otherwise 0. This is
// what a global substitution of a regular expression does.
template <class Match>
std::u32string substitute(std::u32string_view text, const Match& match) {
  std::u32string result;
  result.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const size_t replaced = match(text, result);
    if (replaced == 0) result += text[0];
    text.remove_prefix(replaced == 0 ? 1 : replaced);
  }
  return result;
}

// Several blanks become one, and those at the ends none.
inline std::u32string single_blanks(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (const char32_t point : text)
    if (point != ' ' || (!result.empty() && result.back() != ' ')) result += point;
  if (result.ends_with(U' ')) result.pop_back();
  return result;
}

}  // namespace mega
