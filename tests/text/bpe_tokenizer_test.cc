#include "mega/text/bpe_tokenizer.h"

#include <gtest/gtest.h>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;
using Tokens = std::vector<Token>;

std::unique_ptr<Tokenizer> learn(TokenizerOptions options, std::initializer_list<std::string_view> lines) {
  options.units = TextUnits::bpe;
  const auto builder = make_tokenizer_builder(options);
  for (const std::string_view line : lines) builder->add_line(line);
  return builder->finish();
}

std::unique_ptr<Tokenizer> load(std::string_view vocabulary) {
  return make_tokenizer(TextUnits::bpe, vocabulary, "file");
}

constexpr std::string_view kVocabulary = "#version: 0.2\na b\nab c</w>\n\nabc\nab@@\na@@\nb@@\nb\nc\n";

TEST(BpeTokenizer, SymbolsHaveTheNumbersOfTheDictionary) {
  const auto bpe = load(kVocabulary);
  EXPECT_EQ(bpe->size(), 10);
  EXPECT_EQ(bpe->vocabulary(), kVocabulary);
  EXPECT_EQ(bpe->encode("abc  abb c\nab"), (Tokens{4, 5, 8, 9, kEnd, 6, 8}));
  EXPECT_EQ(bpe->decode(bpe->encode("abc  abb c\n\nab abab\n")), "abc abb c\n\nab abab\n");
  EXPECT_EQ(bpe->encode_document("abc\nab\n", 0), (Tokens{4, 6, 8, kEnd}));
}

TEST(BpeTokenizer, TokensSayWhetherTheirWordGoesOn) {
  const auto bpe = load(kVocabulary);
  EXPECT_EQ(bpe->text(5, false), " ab");
  EXPECT_EQ(bpe->text(8, true), "b");
  EXPECT_TRUE(bpe->ends_inside_word(5));
  EXPECT_FALSE(bpe->ends_inside_word(4));
  for (const Token special : {kStart, kPad, kEnd, kUnknown}) EXPECT_FALSE(bpe->ends_inside_word(special));
  EXPECT_EQ(bpe->decode(Tokens{5, kEnd, 5, 8}), "ab\nabb") << "a line ends any word";
}

TEST(BpeTokenizer, WhatTheDictionaryDoesNotHaveIsTakenApartOrUnknown) {
  const auto bpe = load(kVocabulary);
  EXPECT_EQ(bpe->encode("ab"), (Tokens{6, 8})) << "the codes make ab, which only begins words here";
  EXPECT_EQ(bpe->encode("xb a <unk>"), (Tokens{kUnknown, 8, kUnknown, kUnknown}));
  EXPECT_EQ(bpe->decode(bpe->encode("xb <unk>")), "<unk> b <unk>");
  EXPECT_EQ(bpe->encode("\xff\xc3 b"), (Tokens{kUnknown, kUnknown, 8}));
}

TEST(BpeTokenizer, LearnsCodesAndCountsSymbols) {
  // Equal counts are in the order of code points, as fairseq sorts them.
  const auto bpe = learn({.merges = 2}, {"abc abc ab xb", "<unk> ab </s>"});
  EXPECT_EQ(bpe->vocabulary(), "#version: 0.2\nb c</w>\na bc</w>\n\nb\na@@\nabc\n/@@\n<@@\n>\ns@@\nx@@\n");
  EXPECT_EQ(make_tokenizer(TextUnits::bpe, bpe->vocabulary(), "again")->vocabulary(), bpe->vocabulary());
}

TEST(BpeTokenizer, AMinimumTakesRareSymbolsApart) {
  const std::initializer_list<std::string_view> lines = {"abab abab abab ab ab ab", "ba ba cab"};
  const auto all = learn({.merges = 10}, lines);
  const auto some = learn({.min_count = 3, .merges = 10}, lines);
  EXPECT_LT(some->size(), all->size());
  EXPECT_EQ(all->decode(all->encode("abab ba cab")), "abab ba cab");
  const auto few = learn({.vocabulary = 6, .merges = 10}, lines);
  EXPECT_EQ(few->size(), 6);
}

TEST(BpeTokenizer, ReadsCodesAndDictionaryOfOthers) {
  const ScratchFolder folder;
  write_file(folder / "codes", "#version: 0.2\na b\nab c</w>\n");
  write_file(folder / "dict.txt",
             "abc 7\nab@@ 5\na@@ 5\nb@@ 4\nb 2\nc 1\nmadeupword0000 0\nmadeupword0001 0\n");
  TokenizerOptions options{.units = TextUnits::bpe, .model = (folder / "codes").string()};
  EXPECT_EQ(make_ready_tokenizer(options), nullptr) << "symbols are to be counted";
  const auto counted = learn(options, {"abc abc", "b"});
  EXPECT_EQ(counted->vocabulary(), "#version: 0.2\na b\nab c</w>\n\nabc\nb\n");

  options.dictionary = (folder / "dict.txt").string();
  const auto bpe = make_ready_tokenizer(options);
  EXPECT_EQ(bpe->size(), 12);
  EXPECT_EQ(bpe->encode("abc abb"), (Tokens{4, 5, 8}));
  options.vocabulary = 11;
  EXPECT_PRED2(contains, error_of([&] { make_ready_tokenizer(options); }), "input.vocabulary allows 11");
  options.vocabulary = 0;

  const auto dictionary_error = [&](std::string_view text) {
    write_file(folder / "dict.txt", text);
    return error_of([&] { make_ready_tokenizer(options); });
  };
  EXPECT_PRED2(contains, dictionary_error("abc 7\nab\n"),
               "dict.txt:2: expected a symbol, a blank and its count");
  EXPECT_PRED2(contains, dictionary_error("abc x\n"), "dict.txt:1");
  EXPECT_PRED2(contains, dictionary_error("abc -1\n"), "dict.txt:1");
  EXPECT_PRED2(contains, dictionary_error("a b 1\n"), "dict.txt:1: expected a symbol");
  EXPECT_PRED2(contains, dictionary_error("<pad> 1\n"), "<pad> has a number of its own");
  EXPECT_PRED2(contains, dictionary_error(""), "without symbols");
  EXPECT_PRED2(contains, dictionary_error("a 1\na 2\n"), "already");
  options.model = "";
  EXPECT_PRED2(contains, error_of([&] { make_ready_tokenizer(options); }),
               "name the codes: input.model=FILE");
}

TEST(BpeTokenizer, DamagedVocabulariesAreErrors) {
  const auto error = [](std::string_view vocabulary) { return error_of([&] { load(vocabulary); }); };
  EXPECT_PRED2(contains, error(""), "file: the last line is missing");
  EXPECT_PRED2(contains, error("#version: 0.2\na b\n\nab"), "cut off");
  EXPECT_PRED2(contains, error("#version: 0.2\na b\n"), "an empty line and the symbols");
  EXPECT_PRED2(contains, error("#version: 0.2\na b\n\n"), "BPE codes without symbols");
  EXPECT_PRED2(contains, error("#version: 0.2\na b\n\nab\nab\n"),
               "file:5: the symbol \"ab\" has been on line 4");
  EXPECT_PRED2(contains, error("#version: 0.2\na b\n\nab c\n"), "file:4: expected a symbol");
  EXPECT_PRED2(contains, error("#version: 0.2\na b\n\nab\n\n"), "file:5: expected a symbol");
  EXPECT_PRED2(contains, error("#version: 0.2\na b\n\n\xff\n"), "file:4: expected a symbol");
  EXPECT_PRED2(contains, error("#version: 0.2\na b\n\n</s>\n"), "file:4: </s> has a number of its own");
  EXPECT_PRED2(contains, error("#version: 0.2\na\n\nab\n"), "file:2: expected two symbols");
}

TEST(BpeTokenizer, TextWithoutWordsIsAnError) {
  EXPECT_PRED2(contains, error_of([] { learn({}, {"", "  "}); }), "no word");
  EXPECT_PRED2(contains, error_of([] { learn({.vocabulary = 4}, {"a"}); }), "no room for symbols");
}

}  // namespace
}  // namespace mega
