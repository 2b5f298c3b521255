#include "mega/base/utf8.h"

#include <gtest/gtest.h>

namespace mega {
namespace {

using namespace std::literals;

TEST(Utf8, KeepsValidTextAndReplacesTheRest) {
  for (const std::string_view text :
       {""sv, "plain"sv, "Größe 訓練 🙂"sv, "\xF4\x8F\xBF\xBF"sv, "\0\x1b"sv})
    EXPECT_EQ(valid_utf8(text), text);
  EXPECT_EQ(valid_utf8("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(valid_utf8("\xC3"), "\uFFFD") << "incomplete";
  EXPECT_EQ(valid_utf8("\xE8\xA8z"), "\uFFFDz");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\uFFFD\uFFFD") << "overlong";
  EXPECT_EQ(valid_utf8("\xE0\x80\xAF"), "\uFFFD") << "overlong";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\uFFFD") << "a surrogate";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), "\uFFFD") << "beyond Unicode";
  EXPECT_EQ(valid_utf8("\x80z"), "\uFFFDz");
}

TEST(Utf8, ReturnsTheLengthOfACharacter) {
  EXPECT_EQ(utf8_length(""), 0u);
  EXPECT_EQ(utf8_length("az"), 1u);
  EXPECT_EQ(utf8_length("ßz"), 2u);
  EXPECT_EQ(utf8_length("訓z"), 3u);
  EXPECT_EQ(utf8_length("🙂z"), 4u);
  for (const std::string_view none : {"\x80"sv, "\xC3"sv, "\xC0\xAF"sv, "\xE0\x80\xAF"sv, "\xED\xA0\x80"sv,
                                      "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xF0\x9F\x99"sv})
    EXPECT_EQ(utf8_length(none), 0u);
}

TEST(Utf8, CutsBetweenCharacters) {
  EXPECT_EQ(whole_characters("a🙂b", 99), "a🙂b");
  EXPECT_EQ(whole_characters("a🙂b", 6), "a🙂b");
  EXPECT_EQ(whole_characters("a🙂b", 5), "a🙂");
  for (const size_t most : {1, 2, 3, 4}) EXPECT_EQ(whole_characters("a🙂b", most), "a");
  EXPECT_EQ(whole_characters("🙂", 3), "");
  EXPECT_EQ(whole_characters("", 0), "");
  EXPECT_EQ(whole_characters(std::string(99, '\x80'), 50).size(), 50u) << "no UTF-8: cut anywhere";
}

TEST(Utf8, FindsAnIncompleteCharacterAtTheEnd) {
  const std::string_view smile = "🙂";
  for (size_t bytes = 1; bytes < smile.size(); ++bytes)
    EXPECT_EQ(incomplete_bytes("a" + std::string(smile.substr(0, bytes))), bytes);
  EXPECT_EQ(incomplete_bytes(smile), 0u);
  EXPECT_EQ(incomplete_bytes(""), 0u);
  EXPECT_EQ(incomplete_bytes("a\x80"), 0u) << "a continuation byte without a lead byte";
  EXPECT_EQ(incomplete_bytes("\xE0\x80"), 0u) << "can never become valid";
  EXPECT_EQ(incomplete_bytes("\xFF"), 0u);
}

TEST(Utf8, AppendsWhatItDecodes) {
  for (const char32_t point :
       {0x0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string text;
    append_utf8(text, point);
    const Character character = first_character(text);
    EXPECT_TRUE(character.valid) << std::hex << static_cast<uint32_t>(point);
    EXPECT_EQ(character.point, point);
    EXPECT_EQ(character.length, text.size());
  }
  std::string text = "a";
  append_utf8(text, 0xD800);
  append_utf8(text, 0x110000);
  EXPECT_EQ(text, "a\uFFFD\uFFFD") << "no code points";
}

}  // namespace
}  // namespace mega
