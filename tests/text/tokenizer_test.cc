#include "mega/text/tokenizer.h"

#include <gtest/gtest.h>

#include "mega/base/utf8.h"
#include "mega/text/symbol_counter.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using Tokens = std::vector<int32_t>;

std::unique_ptr<Tokenizer> learn(const TokenizerOptions& options,
                                 std::initializer_list<std::string_view> lines) {
  const auto builder = make_tokenizer_builder(options);
  for (const std::string_view line : lines) builder->add_line(line);
  return builder->finish();
}

std::unique_ptr<Tokenizer> learn(TextUnits units, std::initializer_list<std::string_view> lines) {
  return learn(TokenizerOptions{.units = units}, lines);
}

std::string load_error(TextUnits units, std::string_view vocabulary) {
  return error_of([&] { make_tokenizer(units, vocabulary, "words.txt"); });
}

TEST(ByteTokenizer, EveryByteIsItsNumberAfterTheSpecials) {
  EXPECT_EQ(make_tokenizer_builder(TokenizerOptions{.units = TextUnits::bytes}), nullptr);
  const auto bytes = make_tokenizer(TextUnits::bytes, "", "");
  EXPECT_EQ(bytes->size(), 260);
  EXPECT_EQ(bytes->vocabulary(), "");
  EXPECT_EQ(bytes->encode(std::string_view("\0a\n\xff", 4)), (Tokens{4, 4 + 'a', kEnd, 4 + 255}));
  EXPECT_EQ(bytes->text(4 + '\n', false), "\n") << "no text makes it, but a model can";
  EXPECT_EQ(bytes->text(kUnknown, false), "\uFFFD");

  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(bytes->decode(bytes->encode(all)), all);
}

TEST(ByteTokenizer, AVocabularyOfAnythingElseIsAMistake) {
  for (const char* vocabulary : {"a\n", "97", "97\n256\n", "97\n097\n", "97\n-1\n", "madeupword0000\n", "\n"})
    EXPECT_PRED2(contains, load_error(TextUnits::bytes, vocabulary), "words.txt: bytes need no vocabulary")
        << vocabulary;
  EXPECT_PRED2(contains, load_error(TextUnits::bytes, "97\n97\n"),
               "words.txt:2: byte 97 has a number already");
  EXPECT_EQ(make_tokenizer_builder({.units = TextUnits::listops}), nullptr);
  for (const char* vocabulary : {"a\n", "]", "1\n2\n", "]\n(\n"})
    EXPECT_PRED2(contains, load_error(TextUnits::listops, vocabulary),
                 "words.txt: listops need no vocabulary")
        << vocabulary;
}

// As imported models have them: in the order of a dictionary, which is filled up and lacks some.
TEST(ByteTokenizer, BytesMayHaveNumbersOfTheirOwn) {
  const std::string vocabulary = "32\n101\n97\n10\nmadeupword0000\n";
  const auto bytes = make_tokenizer(TextUnits::bytes, vocabulary, "");
  EXPECT_EQ(bytes->size(), 9);
  EXPECT_EQ(bytes->vocabulary(), vocabulary);
  EXPECT_EQ(bytes->encode("ae z\n"), (Tokens{6, 5, 4, kUnknown, kEnd}));
  EXPECT_EQ(bytes->encode_document("a\ne", 0), (Tokens{6, 7, 5, kEnd}));
  EXPECT_EQ(bytes->document_length("a\ne", 0), 4);
  EXPECT_EQ(bytes->decode(Tokens{6, 4, 5, kEnd}), "a e\n");
  EXPECT_EQ(bytes->text(8, false), "\uFFFD");
}

TEST(ListOpsTokenizer, WordsMayHaveNumbersOfTheirOwn) {
  const std::string vocabulary = "]\n[MED\n2\nmadeupword0000\n";
  const auto listops = make_tokenizer(TextUnits::listops, vocabulary, "");
  EXPECT_EQ(listops->size(), 8);
  EXPECT_EQ(listops->vocabulary(), vocabulary);
  EXPECT_EQ(listops->encode_document("( ( [MED 2 ) 3 ] )", 0), (Tokens{5, 6, kUnknown, 4, kEnd}));
  EXPECT_EQ(listops->decode(Tokens{5, 6, 4}), "[MED 2 ]");
}

TEST(Tokenizer, LinesEndWhereTheTextSays) {
  const auto words = learn(TextUnits::words, {"a"});
  EXPECT_EQ(words->encode(""), Tokens{});
  EXPECT_EQ(words->encode("a"), (Tokens{4}));
  EXPECT_EQ(words->encode("a\n"), (Tokens{4, kEnd}));
  EXPECT_EQ(words->encode("\n\na"), (Tokens{kEnd, kEnd, 4}));
  EXPECT_EQ(words->decode(words->encode("\n\na a\na\n")), "\n\na a\na\n");
}

TEST(Tokenizer, SpecialsWithoutTextAddNone) {
  const auto words = learn(TextUnits::words, {"a"});
  EXPECT_EQ(words->decode(Tokens{kStart, kPad, 4, kPad, 4, kEnd, kPad, 4}), "a a\na");
}

TEST(Tokenizer, TokensOutsideTheVocabularyAreErrors) {
  const auto words = learn(TextUnits::words, {"a"});
  EXPECT_PRED2(contains, error_of([&] { words->text(5, true); }), "token 5 is none of this vocabulary");
  EXPECT_PRED2(contains, error_of([&] { words->decode(Tokens{-1}); }), "0 to 4");
}

TEST(WordTokenizer, FrequentWordsComeFirst) {
  const auto words = learn(TextUnits::words, {"b the  cat\t", "\r the a b the"});
  EXPECT_EQ(words->vocabulary(), "the\nb\na\ncat\n");
  EXPECT_EQ(words->size(), 8);
  EXPECT_EQ(words->encode("\tcat  dog\r\nthe\v\fb"), (Tokens{7, kUnknown, kEnd, 4, 5}));
  EXPECT_EQ(words->decode(Tokens{7, kUnknown, kEnd, 4, 5}), "cat <unk>\nthe b");
  EXPECT_EQ(words->text(7, true), "cat");
  EXPECT_EQ(words->text(7, false), " cat");
  EXPECT_EQ(words->text(kUnknown, false), " <unk>");
}

TEST(WordTokenizer, OnlyTheWordUnkIsASpecial) {
  const auto words = learn(TextUnits::words, {"<unk> <unk> <s> </s> <pad>"});
  EXPECT_EQ(words->vocabulary(), "</s>\n<pad>\n<s>\n");
  EXPECT_EQ(words->encode("<unk> </s> <s> <pad>"), (Tokens{kUnknown, 4, 6, 5}));
}

TEST(WordTokenizer, VocabularyAndMinCountLimitIt) {
  const auto lines = {std::string_view("a a a b b c c d")};
  const auto size = [&](int64_t vocabulary, int64_t min_count) {
    return learn({.units = TextUnits::words, .vocabulary = vocabulary, .min_count = min_count}, lines)
        ->size();
  };
  EXPECT_EQ(size(0, 1), 8);
  EXPECT_EQ(size(0, 2), 7);
  EXPECT_EQ(size(6, 1), 6) << "specials included";
  EXPECT_EQ(size(100, 3), 5);
  EXPECT_PRED2(contains, error_of([&] { size(4, 1); }), "no room for any word");
  EXPECT_PRED2(contains, error_of([&] { size(0, 4); }), "has no word that occurs at least 4 times");
}

TEST(WordTokenizer, AnyBytesCanBeAWord) {
  constexpr char kLine[] = "\xff\xfe nul\0nul caf\u00e9 \u00a0";
  const std::string_view line(kLine, sizeof kLine - 1);
  const auto words = learn(TextUnits::words, {line});
  const auto again = make_tokenizer(TextUnits::words, words->vocabulary(), "memory");
  EXPECT_EQ(again->size(), 8);
  EXPECT_EQ(again->decode(again->encode(line)), line);
}

TEST(WordTokenizer, DamagedVocabulariesAreErrorsWithTheirLine) {
  const auto error = [](std::string_view vocabulary) { return load_error(TextUnits::words, vocabulary); };
  EXPECT_PRED2(contains, error(""), "words.txt: a vocabulary without any word");
  EXPECT_PRED2(contains, error("a\n\nb\n"), "words.txt:2: expected one word");
  EXPECT_PRED2(contains, error("a\nb c\n"), "words.txt:2: expected one word");
  EXPECT_PRED2(contains, error("a\r\n"), "words.txt:1: expected one word");
  EXPECT_PRED2(contains, error("a\n<unk>\n"), "words.txt:2: expected one word (not <unk>");
  EXPECT_PRED2(contains, error("a\nb\na\n"), "words.txt:3: the word \"a\" has been on line 1 already");
  EXPECT_PRED2(contains, error("a\nb"), "words.txt:2: the last line is cut off");
}

TEST(CharacterTokenizer, FrequentCharactersComeFirst) {
  const auto characters = learn(TextUnits::characters, {"é aé", "a é漢\r\u2028"});
  EXPECT_EQ(characters->vocabulary(), "é\n \na\n\r\n\u2028\n漢\n");
  EXPECT_EQ(characters->encode("a\né?"), (Tokens{6, kEnd, 4, kUnknown}));
  EXPECT_EQ(characters->decode(Tokens{6, kEnd, 4, kUnknown}), "a\né\uFFFD");

  const auto again = make_tokenizer(TextUnits::characters, characters->vocabulary(), "memory");
  EXPECT_EQ(again->size(), 10);
  EXPECT_EQ(again->decode(again->encode("\u2028é\n\r a漢")), "\u2028é\n\r a漢");
}

TEST(CharacterTokenizer, BytesThatAreNoCharacterAreUnknown) {
  const auto characters = learn(TextUnits::characters, {"a\xff\xff\uFFFD"});
  EXPECT_EQ(characters->vocabulary(), "a\n");
  EXPECT_EQ(characters->encode("\xc3\xa9 a\xff\xe6\xbc"), (Tokens{3, 3, 4, 3, 3, 3}));
  EXPECT_EQ(characters->encode("\uFFFD"), Tokens{kUnknown});
}

TEST(CharacterTokenizer, DamagedVocabulariesAreErrorsWithTheirLine) {
  const auto error = [](std::string_view vocabulary) {
    return load_error(TextUnits::characters, vocabulary);
  };
  EXPECT_PRED2(contains, error(""), "words.txt: a vocabulary without any character");
  EXPECT_PRED2(contains, error("a\n\xff\n"), "words.txt:2: expected one character");
  EXPECT_PRED2(contains, error("ab\n"), "words.txt:1: expected one character");
  EXPECT_PRED2(contains, error("aa\n"), "words.txt:1: expected one character");
  EXPECT_PRED2(contains, error("a\n\n"), "words.txt:2: expected one character");
  EXPECT_PRED2(contains, error("\uFFFD\n"), "words.txt:1: expected one character (not");
  EXPECT_PRED2(contains, error("é\né\n"), "words.txt:2: the character \"é\" has been on line 1");
}

TEST(SymbolCounter, ForgetsTheRarestWhenMemoryIsShort) {
  SymbolCounter counter(100'000);
  for (int round = 0; round < 200; ++round) {
    for (int n = 0; n < 100; ++n) {
      counter.add("often" + std::to_string(n % 10));
      counter.add("once" + std::to_string(round) + "_" + std::to_string(n));
    }
  }
  const auto symbols = counter.frequent(1, 1'000'000);
  ASSERT_GT(symbols.size(), 10u);
  EXPECT_LT(symbols.size(), 1'000u) << "of 20 010";
  for (int n = 0; n < 10; ++n) EXPECT_EQ(symbols[static_cast<size_t>(n)], "often" + std::to_string(n));
  EXPECT_EQ(counter.frequent(2000, 1'000'000).size(), 10u) << "their counts are exact";
  EXPECT_EQ(counter.frequent(2001, 1'000'000).size(), 0u);
}

TEST(SymbolCounter, ASymbolLargerThanAllMemoryIsForgotten) {
  SymbolCounter counter(1'000);
  counter.add("a");
  counter.add("a");
  counter.add(std::string(10'000, 'x'));
  EXPECT_EQ(counter.frequent(1, 10), std::vector<std::string_view>{"a"});
}

TEST(Utf8, LengthsOfCharactersAndOfNone) {
  EXPECT_EQ(utf8_length(""), 0u);
  EXPECT_EQ(utf8_length(std::string_view("\0", 1)), 1u);
  EXPECT_EQ(utf8_length("é"), 2u);
  EXPECT_EQ(utf8_length("漢字"), 3u);
  EXPECT_EQ(utf8_length("\U0001F600"), 4u);
  EXPECT_EQ(utf8_length("\xf4\x8f\xbf\xbf"), 4u) << "U+10FFFF";
  for (const std::string_view none :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3z", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe6\xbc",
        "\xe6\xbcz", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x9f\x98", "\xff"})
    EXPECT_EQ(utf8_length(none), 0u) << none.size();
}

}  // namespace
}  // namespace mega
