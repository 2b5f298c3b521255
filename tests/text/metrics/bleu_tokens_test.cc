#include "mega/text/metrics/bleu_tokens.h"

#include <gtest/gtest.h>

#include "mega/base/strings.h"
#include "mega/text/metrics/words.h"

namespace mega {
namespace {

// The tokens, with a single space between them.
std::string tokens(std::string_view line, BleuTokens kind) {
  const std::string text = bleu_tokenized(line, kind);
  std::vector<std::string> words;
  for (const std::string_view word : split_words(text)) words.emplace_back(word);
  return join(words, " ");
}

// Expected by hand, from the regular expressions of mteval-v13a.pl.
TEST(BleuTokens, V13aSplitsAsciiPunctuation) {
  const auto t = [](std::string_view line) { return tokens(line, BleuTokens::v13a); };
  EXPECT_EQ(t("Hello, world! (\"yes\")"), "Hello , world ! ( \" yes \" )");
  EXPECT_EQ(t("It wasn't."), "It wasn't .") << "apostrophes stay";
  EXPECT_EQ(t("1,000.50 is 3.5% of a/b."), "1,000.50 is 3.5 % of a / b .");
  EXPECT_EQ(t("In 2017."), "In 2017 .") << "a number at the end has space behind it";
  EXPECT_EQ(t(".5 5. a.b"), ". 5 5 . a . b") << "inside a number there are digits on both sides";
  EXPECT_EQ(t("well-known 2-3 -7"), "well-known 2 - 3 -7") << "a hyphen only after a digit";
  EXPECT_EQ(t("Wait..."), "Wait . . .");
  EXPECT_EQ(t("„Größe“ – ja"), "„Größe“ – ja") << "only ASCII";
}

TEST(BleuTokens, V13aUndoesEntitiesAndDropsSkipped) {
  const auto t = [](std::string_view line) { return tokens(line, BleuTokens::v13a); };
  EXPECT_EQ(t("&quot;a&quot; &amp; &lt;b&gt;"), "\" a \" & < b >");
  EXPECT_EQ(t("&amp;lt;"), "<") << "in this order: & first";
  EXPECT_EQ(t("&apos;"), "& apos ;") << "no other entity";
  EXPECT_EQ(t("a<skipped>b <SKIPPED>"), "ab < SKIPPED >");
  EXPECT_EQ(t("com-\npound of\nlines"), "compound of lines");
}

// Expected by hand, from the regular expressions of mteval-v14.pl.
TEST(BleuTokens, IntlSplitsPunctuationAndSymbolsOfUnicode) {
  const auto t = [](std::string_view line) { return tokens(line, BleuTokens::intl); };
  EXPECT_EQ(t("„Größe“ – ja, 5€+2£"), "„ Größe “ – ja , 5 € + 2 £");
  EXPECT_EQ(t("It wasn't."), "It wasn ' t .");
  EXPECT_EQ(t("1,000.50 a.b"), "1,000.50 a . b");
  EXPECT_EQ(t("In 2017."), "In 2017.") << "nothing follows the full stop";
  EXPECT_EQ(t("In 2017. "), "In 2017.") << "space at the end is stripped first";
  EXPECT_EQ(t("½.² Ⅳ.٣"), "½.² Ⅳ.٣") << "all numbers are numbers";
  EXPECT_EQ(t("&quot;"), "& quot ;") << "entities stay";
  EXPECT_EQ(t("。东京、"), "。 东京 、");
}

TEST(BleuTokens, CharactersAndNone) {
  EXPECT_EQ(tokens(" Größe 7\u00a0!", BleuTokens::characters), "G r ö ß e 7 !");
  EXPECT_EQ(tokens("a\tb\u00a0c\u3000d\x1c e, ", BleuTokens::none), "a b c d e,") << "Python's white space";
}

TEST(BleuTokens, HostileLines) {
  for (const BleuTokens kind :
       {BleuTokens::v13a, BleuTokens::intl, BleuTokens::characters, BleuTokens::none}) {
    EXPECT_EQ(tokens("", kind), "");
    EXPECT_EQ(tokens(" \t\u2003\r", kind), "");
    const bool apart = kind == BleuTokens::characters || kind == BleuTokens::intl;  // U+FFFD is a symbol
    EXPECT_EQ(tokens("\xFF\xC3", kind), apart ? "\uFFFD \uFFFD" : "\uFFFD\uFFFD");
    EXPECT_EQ(tokens(std::string_view("\0", 1), kind), std::string_view("\0", 1));
  }
}

TEST(BleuTokens, MultiBleuTouchesNothing) {
  const std::string_view line = "a , b\u00a0c \xFF &quot;";
  EXPECT_EQ(bleu_tokenized(line, BleuTokens::multi_bleu), line);
  EXPECT_EQ(split_ascii_words(line).size(), 5u) << "a no-break space does not separate bytes";
}

// Expected: perl -ple 's{(\S)-(\S)}{$1 ##AT##-##AT## $2}g'
TEST(SplitCompounds, AsTheLineOfPerl) {
  EXPECT_EQ(split_compounds("rich-text format"), "rich ##AT##-##AT## text format");
  EXPECT_EQ(split_compounds("a-b-c"), "a ##AT##-##AT## b-c");
  EXPECT_EQ(split_compounds("aa-bb-cc"), "aa ##AT##-##AT## bb ##AT##-##AT## cc");
  EXPECT_EQ(split_compounds("a--b - -c d-"), "a ##AT##-##AT## -b - -c d-");
  EXPECT_EQ(split_compounds("über-groß"), "über ##AT##-##AT## groß");
  EXPECT_EQ(split_compounds(""), "");
}

}  // namespace
}  // namespace mega
