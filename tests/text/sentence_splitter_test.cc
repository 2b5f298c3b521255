// Expected sentences are what Moses' split-sentences.perl gives, apart from Chinese.
#include "mega/text/sentence_splitter.h"

#include <gtest/gtest.h>

#include <chrono>

namespace mega {
namespace {

using Sentences = std::vector<std::string>;

TEST(SplitSentences, KnowsEnglishAbbreviations) {
  EXPECT_EQ(
      split_sentences("Mr. Smith went to No. 5 Main St. in Washington. He met Dr. J. R. Jones!  \"Hello,\" "
                      "he said. (It was late.) The U.S. is big... Really? yes. No. It rained 5.5 mm. 12 "
                      "people left.\n\nNew paragraph. etc. and so on.\n"),
      (Sentences{"Mr. Smith went to No. 5 Main St. in Washington.", "He met Dr. J. R. Jones!",
                 "\"Hello,\" he said.", "(It was late.)", "The U.S. is big...", "Really? yes.", "No.",
                 "It rained 5.5 mm.", "12 people left.", "New paragraph. etc. and so on."}));
}

TEST(SplitSentences, KnowsOtherLanguages) {
  EXPECT_EQ(split_sentences("Am 3. Oktober kam Dr. Müller. Er sagte\netwas. Das war z.B. so. Ende", "de"),
            (Sentences{"Am 3. Oktober kam Dr. Müller.", "Er sagte etwas.", "Das war z.B. so.", "Ende"}));
  EXPECT_EQ(split_sentences("M. Dupont dort. Élise rit ! « Ah ! » dit-elle.", "fr"),
            (Sentences{"M. Dupont dort.", "Élise rit !", "« Ah ! » dit-elle."}));
  EXPECT_EQ(split_sentences("今天很好。明天呢？好！The end. 好", "zh"),
            (Sentences{"今天很好。", "明天呢？", "好！", "The end.", "好"}));
}

TEST(SplitSentences, TakesAnyBytes) {
  EXPECT_EQ(split_sentences(""), Sentences{});
  EXPECT_EQ(split_sentences(" \n\r\n\t\n\u00A0\n"), Sentences{});
  EXPECT_EQ(split_sentences("a\xff. B"), (Sentences{"a\uFFFD.", "B"}));
  EXPECT_EQ(split_sentences(std::string_view("a\0. B", 5)), (Sentences{std::string("a\0.", 3), "B"}));
  EXPECT_EQ(split_sentences(". . . A"), (Sentences{". . .", "A"}));
  EXPECT_EQ(split_sentences("A.\r\nB b.\r\n"), (Sentences{"A. B b."}));
}

TEST(SplitSentences, AMegabyteInOneLineIsNoTrouble) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string_view part : {"a", ".", "?", "? ", ". \"", "'", ".'", "A. ", "。"}) {
    std::string text;
    while (text.size() < (size_t{1} << 20)) text += part;
    for (const char* language : {"en", "zh"}) EXPECT_FALSE(split_sentences(text, language).empty());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace mega
