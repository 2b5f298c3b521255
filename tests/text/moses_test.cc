// Expected texts are what Moses' scripts give (tokenizer.perl, detokenizer.perl, normalize-punctuation.perl).
#include <gtest/gtest.h>

#include <chrono>

#include "mega/text/abbreviations.h"
#include "mega/text/moses_detokenizer.h"
#include "mega/text/moses_tokenizer.h"
#include "mega/text/punctuation.h"

namespace mega {
namespace {

std::string plain(std::string_view line, std::string_view language) {
  return moses_tokenize(line, {.language = language, .escape = false});
}

TEST(MosesTokenizer, CutsEnglish) {
  EXPECT_EQ(moses_tokenize("Mr. Smith's dog isn't here, is it? \"No,\" he said... (It cost $5,300.50 in the "
                           "1990's.)"),
            "Mr. Smith &apos;s dog isn &apos;t here , is it ? &quot; No , &quot; he said ... ( It cost $ "
            "5,300.50 in the 1990 &apos;s . )");
  EXPECT_EQ(
      plain("He works at U.S. Steel Corp. in No. 5 Main St. and e.g. the Joneses' house; see [1].", "en"),
      "He works at U.S. Steel Corp. in No. 5 Main St. and e.g. the Joneses ' house ; see [ 1 ] .");
  EXPECT_EQ(plain("a,b,c,d 1,2 3,4, 50% – naïve café. 'quoted'", "en"),
            "a , b , c , d 1,2 3,4 , 50 % – naïve café . ' quoted'");
  EXPECT_EQ(plain("No. He left. The end.'", "en"), "No . He left . The end . '");
  EXPECT_EQ(plain("1,2,", "en"), "1,2 ,");
}

TEST(MosesTokenizer, CutsOtherLanguages) {
  EXPECT_EQ(plain("Am 3. Oktober 1990, z.B. um 12.30 Uhr, sagte Dr. Müller: „Das ist's!“ usw.", "de"),
            "Am 3. Oktober 1990 , z.B. um 12.30 Uhr , sagte Dr. Müller : „ Das ist ' s ! “ usw .");
  EXPECT_EQ(plain("L'eau d'aujourd'hui coûte 5,3 €\u00A0; n'est-ce pas ? M. Dupont", "fr"),
            "L' eau d' aujourd' hui coûte 5,3 € ; n' est-ce pas ? M. Dupont");
  EXPECT_EQ(plain("Dl. Ionescu are 3 copii, ș.a.m.d. Atât.", "ro"),
            "Dl. Ionescu are 3 copii , ș.a.m.d. Atât .");
  EXPECT_EQ(plain("Řekl např. Mgr. Novák 3. května.", "cs"), "Řekl např. Mgr. Novák 3. května .");
  EXPECT_EQ(plain("漢字。かな!", "ja"), "漢字 。 かな !");
}

TEST(MosesTokenizer, SplitsHyphensAndEscapesIfAsked) {
  EXPECT_EQ(moses_tokenize("A well-known e-mail - a-", {.split_hyphens = true}),
            "A well @-@ known e @-@ mail - a-");
  EXPECT_EQ(moses_tokenize("& | < > ' \" [ ]"), "&amp; &#124; &lt; &gt; &apos; &quot; &#91; &#93;");
  EXPECT_EQ(moses_unescape(moses_escape("a & b | <c> 'd' \"e\" [f] &lt; &amp;")),
            "a & b | <c> 'd' \"e\" [f] &lt; &amp;");
  EXPECT_EQ(moses_unescape("&bar; &bra; &ket;"), "| [ ]");
}

TEST(MosesTokenizer, TakesAnyBytes) {
  EXPECT_EQ(moses_tokenize(""), "");
  EXPECT_EQ(moses_tokenize(" \t\u00A0\n"), "");
  EXPECT_EQ(moses_tokenize(std::string_view("a\0b\x01\x1f c\r", 8)), "ab c");
  EXPECT_EQ(moses_tokenize("a\xff\xc3 b"), "a \uFFFD \uFFFD b");
  // An accent of its own is no letter: Moses cuts it off too.
  EXPECT_EQ(moses_tokenize("e\u0301a"), "e \u0301 a");
  EXPECT_EQ(moses_tokenize("...."), "....");
  EXPECT_EQ(moses_tokenize("."), ".");
  EXPECT_EQ(moses_tokenize("''"), "&apos;&apos;");
}

TEST(MosesDetokenizer, JoinsWhatWasCut) {
  const auto round_trip = [](std::string_view line, std::string_view language) {
    return moses_detokenize(moses_tokenize(line, {.language = language, .split_hyphens = true}), language);
  };
  for (const std::string_view line :
       {"Mr. Smith's dog isn't here, is it? \"No,\" he said... (It cost $5,300.50 in the 1990's.)",
        "A well-known \"e-mail\": the Joneses' house [1] & x."})
    EXPECT_EQ(round_trip(line, "en"), line);
  for (const std::string_view line : {"Am 3. Oktober, z.B. um 12.30 Uhr, sagte Dr. Müller: „Das!“ usw."})
    EXPECT_EQ(round_trip(line, "de"), line);
  EXPECT_EQ(round_trip("L'eau d'aujourd'hui ; n'est-ce pas ?", "fr"), "L'eau d'aujourd'hui ; n'est-ce pas ?");
  EXPECT_EQ(round_trip("漢字。かな abc 漢字", "zh"), "漢字。かな abc 漢字");
}

TEST(MosesDetokenizer, KnowsCzech) {
  EXPECT_EQ(moses_detokenize("Je - li to 3 , 5 e - mail , tak „ ano “ řekl .", "cs"),
            "Je-li to 3,5 e-mail, tak „ano“ řekl.");
}

TEST(MosesDetokenizer, TakesAnyBytes) {
  EXPECT_EQ(moses_detokenize("", "en"), "");
  EXPECT_EQ(moses_detokenize("  a   b  ", "en"), "a b");
  EXPECT_EQ(moses_detokenize("a \xff b", "en"), "a \uFFFD b");
  EXPECT_EQ(moses_detokenize("< a >", "en"), "< a >");
  EXPECT_EQ(moses_detokenize("@-@", "en"), "-");
}

TEST(NormalizePunctuation, MakesMarksPlain) {
  const std::string line =
      "He said “quoted,” and ‘x’ — it’s 5 % (see ) : «\u00A0oui\u00A0» 10\u00A0000 … ok\".";
  EXPECT_EQ(normalize_punctuation(line, "en"),
            "He said \"quoted,\" and 'x\" - it's 5% (see): \"oui\" 10.000 ... ok.\"");
  EXPECT_EQ(normalize_punctuation(line, "de"),
            "He said \"quoted\", and 'x\" - it's 5% (see): \"oui\" 10,000 ... ok\".");
  EXPECT_EQ(normalize_punctuation(line, "ro"),
            "He said \"quoted\", and 'x\" - it's 5% (see): \"oui\" 10.000 ... ok\".");
  EXPECT_EQ(normalize_punctuation(line, "cs"),
            "He said \"quoted,\" and 'x\" - it's 5% (see): \"oui\" 10,000 ... ok\".");
  EXPECT_EQ(normalize_punctuation("Er sagte: „Nein.“ Gut..\" <b", "de"), "Er sagte: \"Nein\". Gut\".. <b");
  EXPECT_EQ(normalize_punctuation("", "en"), "");
  EXPECT_EQ(normalize_punctuation("a\xff\r", "xx"), "a\xff");
}

TEST(Abbreviations, DependOnTheLanguage) {
  EXPECT_EQ(abbreviation("Mr", "en"), Abbreviation::always);
  EXPECT_EQ(abbreviation("No", "en"), Abbreviation::before_number);
  EXPECT_EQ(abbreviation("bzw", "de"), Abbreviation::always);
  EXPECT_EQ(abbreviation("bzw", "en"), Abbreviation::none);
  EXPECT_EQ(abbreviation("Mr", "xx"), Abbreviation::always) << "English where the language is not known";
  EXPECT_EQ(abbreviation("Ä", "de"), Abbreviation::always);
  EXPECT_EQ(abbreviation("ä", "en"), Abbreviation::none);
  EXPECT_EQ(abbreviation("12", "de"), Abbreviation::always);
  EXPECT_EQ(abbreviation("12", "en"), Abbreviation::none);
  EXPECT_EQ(abbreviation("", "de"), Abbreviation::none);
  EXPECT_EQ(abbreviation("\xff", "de"), Abbreviation::none);
}

TEST(Moses, LongLinesAreNoTrouble) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string_view part :
       {"a", ".", "'", ",", "\"", "(", "漢", "\u0301", "\xff", "a.", ".'", "&", " "}) {
    std::string line;
    while (line.size() < (size_t{1} << 17)) line += part;
    for (const char* language : {"en", "fr", "de"}) {
      const std::string cut = moses_tokenize(line, {.language = language, .split_hyphens = true});
      moses_detokenize(cut, language);
      normalize_punctuation(line, language);
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace mega
