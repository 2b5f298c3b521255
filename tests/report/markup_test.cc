#include "mega/report/markup.h"

#include <gtest/gtest.h>

namespace mega {
namespace {

using namespace std::literals;

TEST(Markup, EscapesSpecialCharacters) {
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
