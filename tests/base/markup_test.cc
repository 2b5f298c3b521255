#include "mega/base/markup.h"

#include <gtest/gtest.h>

namespace mega {
namespace {

using namespace std::literals;

TEST(Markup, KeepsUtf8AndReplacesTheRest) {
  for (const std::string_view text :
       {""sv, "plain"sv, "Größe 訓練 🙂"sv, "\xF4\x8F\xBF\xBF"sv, "\0\x1b"sv})
    EXPECT_EQ(valid_utf8(text), text);
  EXPECT_EQ(valid_utf8("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(valid_utf8("\xC3"), "\uFFFD") << "cut in the middle";
  EXPECT_EQ(valid_utf8("\xE8\xA8z"), "\uFFFDz");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\uFFFD\uFFFD") << "overlong";
  EXPECT_EQ(valid_utf8("\xE0\x80\xAF"), "\uFFFD") << "overlong";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\uFFFD") << "a surrogate";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), "\uFFFD") << "beyond Unicode";
  EXPECT_EQ(valid_utf8("\x80z"), "\uFFFDz");
}

TEST(Markup, EscapesWhatCouldEndTheText) {
  EXPECT_EQ(escape_markup("<script>'a' & \"b\"</script>"),
            "&lt;script&gt;&#39;a&#39; &amp; &quot;b&quot;&lt;/script&gt;");
  EXPECT_EQ(escape_markup("tab\tline\n"), "tab\tline\n");
  EXPECT_EQ(escape_markup("\0\x1b\r\x7f"sv), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(escape_markup("\xC2\x85|\xEF\xBF\xBF|\xFF"), "\uFFFD|\uFFFD|\uFFFD");
  EXPECT_EQ(escape_markup("Größe 訓練"), "Größe 訓練");
}

TEST(Markup, ShortensByCharacters) {
  EXPECT_EQ(shortened("Größe", 5), "Größe");
  EXPECT_EQ(shortened("Größe", 4), "Grö…");
  EXPECT_EQ(shortened("Größe", 1), "…");
  EXPECT_EQ(shortened("", 1), "");
  EXPECT_EQ(shortened("\xFF\xFF\xFF", 2), "\uFFFD…");
}

}  // namespace
}  // namespace mega
