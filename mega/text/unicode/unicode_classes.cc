#include "mega/text/unicode/unicode_classes.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "mega/text/unicode/unicode_tables.h"

namespace mega {
namespace {

using namespace unicode;

// The last range that begins at or before the point; null where the point is before all or after that one.
template <class R, class PointsOf>
const R* find_range(std::span<const R> ranges, char32_t point, const PointsOf& points_of) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), point,
                                      [&](char32_t p, const R& range) { return p < points_of(range).first; });
  if (after == ranges.begin()) return nullptr;
  const R& range = *std::prev(after);
  return point <= points_of(range).last ? &range : nullptr;
}

constexpr auto kSelf = [](const auto& range) { return range; };

bool within(char32_t point, std::span<const Points> ranges) {
  return find_range(ranges, point, kSelf) != nullptr;
}

bool has_step(const SteppedPoints& range, char32_t point) { return (point - range.first) % range.step == 0; }

bool within(char32_t point, std::span<const SteppedPoints> ranges) {
  const SteppedPoints* const range = find_range(ranges, point, kSelf);
  return range != nullptr && has_step(*range, point);
}

// The blocks of Moses' detokenizer: Hangul Jamo; from CJK Radicals to Yi; Phags-pa; Hangul syllables;
// compatibility ideographs and forms; half-width Katakana and Hangul; the ideographic plane.
constexpr Points kCjk[] = {{0x1100, 0x11FF}, {0x2E80, 0xA4CF}, {0xA840, 0xA87F}, {0xAC00, 0xD7AF},
                           {0xF900, 0xFAFF}, {0xFE30, 0xFE4F}, {0xFF65, 0xFFDC}, {0x20000, 0x2FFFF}};

constexpr Points kSpaces[] = {{0x0009, 0x000D}, {0x0020, 0x0020}, {0x0085, 0x0085}, {0x00A0, 0x00A0},
                              {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                              {0x205F, 0x205F}, {0x3000, 0x3000}};

bool is_ascii(char32_t point) { return point < 0x80; }
bool is_ascii_digit(char32_t point) { return '0' <= point && point <= '9'; }
bool is_ascii_upper(char32_t point) { return 'A' <= point && point <= 'Z'; }
bool is_ascii_lower(char32_t point) { return 'a' <= point && point <= 'z'; }
bool is_ascii_letter(char32_t point) { return is_ascii_upper(point) || is_ascii_lower(point); }

}  // namespace

bool is_punctuation(char32_t point) { return within(point, kPunctuation); }
bool is_opening_quote(char32_t point) { return !is_ascii(point) && within(point, kInitialQuotes); }
bool is_closing_quote(char32_t point) { return !is_ascii(point) && within(point, kFinalQuotes); }
bool is_symbol(char32_t point) { return within(point, kSymbols); }
bool is_currency(char32_t point) { return within(point, kCurrency); }

bool is_number(char32_t point) { return is_ascii(point) ? is_ascii_digit(point) : within(point, kNumbers); }

bool is_decimal_digit(char32_t point) {
  return is_ascii(point) ? is_ascii_digit(point) : within(point, kDecimalDigits);
}

bool is_letter(char32_t point) { return is_ascii(point) ? is_ascii_letter(point) : within(point, kLetters); }

bool is_mark(char32_t point) { return !is_ascii(point) && within(point, kMarks); }

bool is_alphabetic(char32_t point) {
  return is_letter(point) || (!is_ascii(point) && within(point, kOtherAlphabetic));
}

bool is_alnum(char32_t point) { return is_alphabetic(point) || is_decimal_digit(point); }

bool is_lower(char32_t point) { return is_ascii(point) ? is_ascii_lower(point) : within(point, kLowercase); }

bool is_upper(char32_t point) { return is_ascii(point) ? is_ascii_upper(point) : within(point, kUppercase); }

bool is_space(char32_t point) { return within(point, kSpaces); }

bool is_cjk(char32_t point) { return !is_ascii(point) && within(point, kCjk); }

char32_t to_lower(char32_t point) {
  if (is_ascii(point)) return is_ascii_upper(point) ? point + ('a' - 'A') : point;
  const LowerCase* const found = find_range(std::span<const LowerCase>(kToLower), point,
                                            [](const LowerCase& range) { return range.points; });
  if (found == nullptr || !has_step(found->points, point)) return point;
  return static_cast<char32_t>(static_cast<int32_t>(point) + found->added);
}

}  // namespace mega
