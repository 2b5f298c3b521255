#include "mega/text/unicode/lower_case.h"

#include <gtest/gtest.h>

namespace mega {
namespace {

// Expected values are those of Python 3.11's str.lower().
TEST(LowerCase, KnowsAlphabets) {
  EXPECT_EQ(lower_case(""), "");
  EXPECT_EQ(lower_case("Grüße AUS KÖLN, Straße 7"), "grüße aus köln, straße 7");
  EXPECT_EQ(lower_case("ЁЖИК в Тумане"), "ёжик в тумане");
  EXPECT_EQ(lower_case("ĄŻŞŐ Ǆ ǅ ﬀ ẞ"), "ążşő ǆ ǆ ﬀ ß");
  EXPECT_EQ(lower_case("\U00010400"), "\U00010428") << "Deseret, beyond the first plane";
  EXPECT_EQ(lower_case("東京"), "東京");
}

TEST(LowerCase, DottedIBecomesTwoCharacters) { EXPECT_EQ(lower_case("İZMİR ILIK"), "i̇zmi̇r ilik"); }

TEST(LowerCase, SigmaAtTheEndOfAWord) {
  EXPECT_EQ(lower_case("ΟΔΟΣ ΣΟΦΟΣ"), "οδος σοφος");
  EXPECT_EQ(lower_case("Σ"), "σ") << "not after a letter";
  EXPECT_EQ(lower_case("ΑΣΑ ΑΣ."), "ασα ας.");
  EXPECT_EQ(lower_case("Α'Σ"), "α'ς") << "an apostrophe is looked through, backwards";
  EXPECT_EQ(lower_case("ΑΣ'Α ΑΣ.Α ΑΣ Α"), "ασ'α ασ.α ας α") << "and forwards";
  EXPECT_EQ(lower_case("ΑΣ’ ΑΣ-Α"), "ας’ ας-α") << "a hyphen ends a word";
  EXPECT_EQ(lower_case("1Σ"), "1σ");
}

TEST(LowerCase, InvalidBytesAreReplaced) {
  EXPECT_EQ(lower_case("A\xFF"
                       "B\xC3"),
            "a\uFFFDb\uFFFD");
  EXPECT_EQ(lower_case(std::string_view("A\0B", 3)), std::string_view("a\0b", 3));
}

}  // namespace
}  // namespace mega
