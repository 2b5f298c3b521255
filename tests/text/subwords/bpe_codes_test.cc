// Expected codes and symbols are what subword-nmt gives for the same text.
#include "mega/text/subwords/bpe_codes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>

#include "mega/text/subwords/bpe_learner.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;

constexpr std::string_view kText =
    "low low low low low lower lower newest newest newest newest newest newest widest widest widest straße "
    "straßen café cafés ananas banana bananas aaaa aaaaa naïve 漢字 漢字 漢字かな Straße";

std::string learn(std::string_view text, int64_t merges, int64_t min_frequency = 2) {
  std::map<std::string, int64_t> counts;
  for_each_bpe_word(text, [&](std::string_view word) { ++counts[std::string(word)]; });
  const std::vector<CountedWord> words(counts.begin(), counts.end());
  return learn_bpe_codes(words, merges, min_frequency);
}

TEST(BpeLearner, LearnsTheCodesOfSubwordNmtInItsOrder) {
  const std::string codes =
      "#version: 0.2\ns t</w>\ne st</w>\nl o\nw est</w>\nn e\nne west</w>\nn a\nlo w</w>\na a\nw i\nwi d\n"
      "wid est</w>\nt r\ntr a\ntra ß\na na\n漢 字</w>\nw e\nwe r</w>\ntraß e</w>\nna s</w>\nlo wer</w>\nc a\n"
      "ca f\nb ana\n";
  EXPECT_EQ(learn(kText, 100), codes);
  EXPECT_EQ(learn(kText, 4), "#version: 0.2\ns t</w>\ne st</w>\nl o\nw est</w>\n");
  EXPECT_EQ(learn(kText, 100, 7), "#version: 0.2\ns t</w>\ne st</w>\nl o\n");
  EXPECT_EQ(BpeCodes(codes, "codes").text(), codes);
}

TEST(BpeLearner, LearnsNothingFromNothing) {
  EXPECT_EQ(learn("", 10), "#version: 0.2\n");
  EXPECT_EQ(learn("a b c", 10), "#version: 0.2\n");
  EXPECT_EQ(learn("ab cd", 10), "#version: 0.2\n") << "no pair stands there twice";
  EXPECT_EQ(learn(kText, 0), "#version: 0.2\n");
}

TEST(BpeCodes, CutWordsAsSubwordNmtDoes) {
  const BpeCodes codes(learn(kText, 100), "codes");
  EXPECT_EQ(
      apply_bpe(codes, "lowest widen lower bananas aaaaaa straßen x 漢字かな newer"),
      "lo@@ west wid@@ e@@ n lower bana@@ nas aa@@ aa@@ a@@ a s@@ traß@@ e@@ n x 漢@@ 字@@ か@@ な ne@@ "
      "wer");
  EXPECT_EQ(apply_bpe(codes, "  low   x\ty \r"), "  low x@@ \t@@ y \r");
  EXPECT_EQ(apply_bpe(codes, ""), "");
  EXPECT_EQ(apply_bpe(codes, "   "), "   ");
}

TEST(BpeCodes, TakeApartWhatAVocabularyDoesNotHave) {
  const BpeCodes codes(learn(kText, 100), "codes");
  const std::set<std::string> vocabulary = {"low", "w@@", "est", "lo@@"};
  const IsKnownSymbol is_known = [&](std::string_view symbol, bool ends_word) {
    return vocabulary.contains(std::string(symbol) + (ends_word ? "" : "@@"));
  };
  EXPECT_EQ(apply_bpe(codes, "lowest widen lower x 漢字かな", is_known),
            "lo@@ w@@ est w@@ i@@ d@@ e@@ n lo@@ w@@ e@@ r x 漢@@ 字@@ か@@ な");
}

TEST(BpeCodes, OfVersionOneHaveTheEndOfAWordAsASymbol) {
  for (const std::string head : {"", "#version: 0.1\n"}) {
    const BpeCodes codes(head + "a b\nab </w>\nb c\n", "codes");
    EXPECT_EQ(apply_bpe(codes, "ab abc bc b"), "ab ab@@ c bc b");
    EXPECT_EQ(codes.text(), "#version: 0.1\na b\nab </w>\nb c\n");
    // The last merge of "ab" added its end; the one before made it.
    const IsKnownSymbol nothing = [](std::string_view, bool) { return false; };
    EXPECT_EQ(apply_bpe(codes, "ab abc", nothing), "a@@ b a@@ b@@ c");
  }
}

TEST(BpeCodes, AllPlacesOfAPairAreMergedBeforeTheNextCode) {
  // After the first merge of "ab c", "abc ab" would come first; but its second place comes before that.
  const BpeCodes codes("#version: 0.2\na b\nabc ab\nab c\n", "codes");
  EXPECT_EQ(apply_bpe(codes, "abcabcx"), "abc@@ abc@@ x");
}

TEST(BpeCodes, UndoJoinsSymbols) {
  EXPECT_EQ(undo_bpe("lo@@ west wid@@ e@@ n x"), "lowest widen x");
  EXPECT_EQ(undo_bpe("ab@@"), "ab");
  EXPECT_EQ(undo_bpe("ab@@ "), "ab");
  EXPECT_EQ(undo_bpe("a@@b @ @@@ c"), "a@@b @ @c");
  EXPECT_EQ(undo_bpe(""), "");
}

TEST(BpeCodes, FilesThatAreNoneAreErrors) {
  const auto error = [](std::string_view text) { return error_of([&] { BpeCodes(text, "c.txt"); }); };
  EXPECT_PRED2(contains, error("#version: 0.2\na b\na\n"), "c.txt:3: expected two symbols");
  EXPECT_PRED2(contains, error("#version: 0.2\na b c\n"), "c.txt:2: expected two symbols");
  EXPECT_PRED2(contains, error("a b\n\na b\n"), "c.txt:2: expected two symbols");
  EXPECT_PRED2(contains, error("#version: 0.3\na b\n"), "c.txt:1: BPE codes of version \"0.3\"");
  EXPECT_PRED2(contains, error("#version: 0.2 byte\n"), "version \"0.2 byte\"");
  EXPECT_PRED2(contains, error("#version: 0.2\na \xff\n"), "c.txt:2");
  EXPECT_EQ(BpeCodes("#version: 0.2\r\n a b \r\n\n\n", "c.txt").text(), "#version: 0.2\na b\n");
}

TEST(BpeCodes, BytesThatAreNoTextPassThrough) {
  const BpeCodes codes("#version: 0.2\na b\nb c</w>\n", "codes");
  EXPECT_EQ(apply_bpe(codes,
                      "a\xff"
                      "b"),
            "a@@ \xff@@ b");
  const std::string zero("ab\0c", 4);
  EXPECT_EQ(undo_bpe(apply_bpe(codes, zero)), zero);
  EXPECT_EQ(apply_bpe(codes, "abe\u0301"), "ab@@ e@@ \u0301");
}

TEST(BpeCodes, AMegabyteWithoutBlanksIsNoTrouble) {
  const BpeCodes codes("#version: 0.2\na a\naa aa\nb a\n", "codes");
  const auto start = std::chrono::steady_clock::now();
  const std::string line(size_t{1} << 20, 'a');
  EXPECT_EQ(undo_bpe(apply_bpe(codes, line)), line);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace mega
