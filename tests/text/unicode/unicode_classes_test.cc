#include "mega/text/unicode/unicode_classes.h"

#include <gtest/gtest.h>

#include <functional>
#include <string_view>

namespace mega {
namespace {

int64_t count(const std::function<bool(char32_t)>& is) {
  int64_t members = 0;
  for (char32_t point = 0; point <= 0x10FFFF; ++point) members += is(point);
  return members;
}

// Numbers of code points per class that Unicode 14.0 has.
TEST(UnicodeClasses, HaveTheMembersOfUnicode14) {
  EXPECT_EQ(count(is_punctuation), 819);
  EXPECT_EQ(count(is_opening_quote), 12);
  EXPECT_EQ(count(is_closing_quote), 10);
  EXPECT_EQ(count(is_symbol), 7741);
  EXPECT_EQ(count(is_currency), 63);
  EXPECT_EQ(count(is_number), 1791);
  EXPECT_EQ(count(is_decimal_digit), 660);
  EXPECT_EQ(count(is_letter), 131756);
  EXPECT_EQ(count(is_mark), 2408);
  EXPECT_EQ(count(is_alphabetic), 133396);
  EXPECT_EQ(count(is_alnum), 133396 + 660);
  EXPECT_EQ(count(is_lower), 2471);
  EXPECT_EQ(count(is_upper), 1951);
  EXPECT_EQ(count(is_space), 25);
  EXPECT_EQ(count([](char32_t point) { return to_lower(point) != point; }), 1433);
}

TEST(UnicodeClasses, KnowCharacters) {
  for (const char32_t point : std::u32string_view(U"!\"#%&'()*,-./:;?@[\\]_{}„“”«»…–、।"))
    EXPECT_TRUE(is_punctuation(point)) << static_cast<uint32_t>(point);
  for (const char32_t point : std::u32string_view(U"$+<=>^`|~€£°©→")) {
    EXPECT_TRUE(is_symbol(point)) << static_cast<uint32_t>(point);
    EXPECT_FALSE(is_punctuation(point)) << static_cast<uint32_t>(point);
  }
  EXPECT_TRUE(is_opening_quote(U'«') && is_opening_quote(U'“') && !is_opening_quote(U'"'));
  EXPECT_TRUE(is_closing_quote(U'»') && is_closing_quote(U'”') && !is_closing_quote(U'„'));
  EXPECT_TRUE(is_currency(U'€') && !is_currency(U'%'));
  EXPECT_TRUE(is_number(U'½') && !is_decimal_digit(U'½') && !is_alnum(U'½'));
  EXPECT_TRUE(is_decimal_digit(U'٣') && is_alnum(U'٣'));
  // A vowel sign is alphabetic but no letter; an accent on its own is neither.
  EXPECT_TRUE(is_alphabetic(0x093E) && !is_letter(0x093E) && is_mark(0x093E));
  EXPECT_TRUE(!is_alphabetic(0x0301) && is_mark(0x0301));
  EXPECT_TRUE(is_cjk(U'漢') && is_cjk(U'。') && is_cjk(0x2F800) && !is_cjk(U'é'));
  EXPECT_TRUE(is_space(0xA0) && is_space(0x3000) && is_space('\n') && !is_space(0x200B));
}

TEST(UnicodeClasses, KnowCases) {
  EXPECT_TRUE(is_upper(U'Ș') && is_lower(U'ș') && !is_upper(U'ß') && is_lower(U'ß'));
  // Both cases side by side: every second point.
  EXPECT_TRUE(is_upper(0x0100) && !is_upper(0x0101) && !is_lower(0x0100) && is_lower(0x0101));
  EXPECT_TRUE(!is_upper(U'漢') && !is_lower(U'漢') && !is_lower('1'));
  EXPECT_EQ(to_lower('Q'), U'q');
  EXPECT_EQ(to_lower(U'Ă'), U'ă');
  EXPECT_EQ(to_lower(U'ă'), U'ă');
  EXPECT_EQ(to_lower(U'Ω'), U'ω');
  EXPECT_EQ(to_lower(0x1E9E), U'ß');
  EXPECT_EQ(to_lower(0x10400), char32_t{0x10428});
}

TEST(UnicodeClasses, HaveNoMembersBeyondUnicode) {
  for (const char32_t point :
       {char32_t{0xD800}, char32_t{0xDFFF}, char32_t{0x110000}, char32_t{0xFFFFFFFF}}) {
    EXPECT_FALSE(is_punctuation(point) || is_symbol(point) || is_number(point) || is_alnum(point) ||
                 is_lower(point) || is_upper(point) || is_space(point) || is_mark(point) || is_cjk(point));
    EXPECT_EQ(to_lower(point), point);
  }
}

}  // namespace
}  // namespace mega
