#include "mega/text/unicode/lower_case.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "mega/base/utf8.h"
#include "mega/text/unicode/case_ignorable.h"
#include "mega/text/unicode/unicode_classes.h"

namespace mega {
namespace {

constexpr char32_t kCapitalSigma = 0x03A3;
constexpr char32_t kCapitalIWithDot = 0x0130;
constexpr std::string_view kFinalSigma = "\u03C2";
constexpr std::string_view kSmallIWithDot = "i\u0307";

bool within(char32_t point, std::span<const unicode::Points> ranges) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), point,
                                      [](char32_t p, unicode::Points range) { return p < range.first; });
  return after != ranges.begin() && point <= std::prev(after)->last;
}

bool is_ignorable(char32_t point) { return within(point, unicode::kCaseIgnorable); }

bool is_cased(char32_t point) {
  return is_lower(point) || is_upper(point) || within(point, unicode::kTitlecase);
}

// Whether the text goes on with a letter that has a case.
bool begins_cased(std::string_view text) {
  while (!text.empty()) {
    const Character next = first_character(text);
    if (!next.valid) return false;
    if (!is_ignorable(next.point)) return is_cased(next.point);
    text.remove_prefix(next.length);
  }
  return false;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool after_cased = false;  // of what is not ignorable, the last was a letter that has a case
  while (!text.empty()) {
    const Character next = first_character(text);
    text.remove_prefix(next.length);
    if (!next.valid) {
      result += kReplacement;
      after_cased = false;
      continue;
    }
    if (next.point == kCapitalSigma && after_cased && !begins_cased(text))
      result += kFinalSigma;
    else if (next.point == kCapitalIWithDot)
      result += kSmallIWithDot;
    else
      append_utf8(result, to_lower(next.point));
    if (!is_ignorable(next.point)) after_cased = is_cased(next.point);
  }
  return result;
}

}  // namespace mega
