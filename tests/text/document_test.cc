// Documents as token numbers, in all units.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mega/text/tokenizer.h"

namespace mega {
namespace {

using Tokens = std::vector<Token>;

constexpr std::initializer_list<TextUnits> kFixed = {TextUnits::bytes, TextUnits::listops};

std::unique_ptr<Tokenizer> fixed(TextUnits units) { return make_ready_tokenizer({.units = units}); }

Tokens bytes(std::string_view text, int64_t max_length = 0) {
  return fixed(TextUnits::bytes)->encode_document(text, max_length);
}
Tokens listops(std::string_view text, int64_t max_length = 0) {
  return fixed(TextUnits::listops)->encode_document(text, max_length);
}

std::unique_ptr<Tokenizer> learn(TextUnits units) {
  const auto builder = make_tokenizer_builder({.units = units, .vocabulary = 400});
  for (int i = 0; i < 50; ++i) builder->add_line("a good film " + std::to_string(i));
  return builder->finish();
}

TEST(Document, HasTheReleasedNumbers) {
  EXPECT_EQ(fixed(TextUnits::bytes)->size(), 260);
  EXPECT_EQ(fixed(TextUnits::listops)->size(), 19);
  EXPECT_EQ(bytes(""), Tokens{kEnd});
  EXPECT_EQ(bytes(std::string_view("\0A\n\xFF", 4)), (Tokens{4, 69, 14, 259, 2}));
}

TEST(Document, OfTheWordsOfListOps) {
  EXPECT_EQ(listops("[MAX 0 9 [MED 1 ] [MIN [SM ]"), (Tokens{15, 4, 13, 16, 5, 14, 17, 18, 14, kEnd}));
  // Round brackets are how the published files nest; they say nothing that the others do not.
  EXPECT_EQ(listops("( ( ( [MAX 2 ) 9 ) ] )"), listops("[MAX 2 9 ]"));
  EXPECT_EQ(listops("(7)\t8\r\n"), (Tokens{11, 12, kEnd}));
  EXPECT_EQ(listops("7\n8\r9"), (Tokens{11, 12, 13, kEnd}));
  EXPECT_EQ(listops(""), Tokens{kEnd});
  EXPECT_EQ(listops(" () "), Tokens{kEnd});
  EXPECT_EQ(listops("10 [max word 3"), (Tokens{kUnknown, kUnknown, kUnknown, 7, kEnd}));
}

TEST(Document, IsCutBeforeItsEnd) {
  EXPECT_EQ(bytes("abc", 4), (Tokens{101, 102, 103, kEnd}));
  EXPECT_EQ(bytes("abc", 3), (Tokens{101, 102, kEnd}));
  EXPECT_EQ(bytes("abc", 1), Tokens{kEnd});
  EXPECT_EQ(listops("1 2 3", 3), (Tokens{5, 6, kEnd}));
  EXPECT_EQ(listops("1 2 3", 1), Tokens{kEnd});
}

TEST(Document, IsCountedWithoutMakingItsTokens) {
  for (const char* text : {"", "a", "abc", " [MAX 1 ( 2 ) ] ", "1 2 3 4 5 6 7 8 9", "1\n2\n"}) {
    for (const int64_t most : {0, 1, 2, 3, 4, 5, 1000}) {
      for (const TextUnits units : kFixed) {
        const auto tokenizer = fixed(units);
        EXPECT_EQ(tokenizer->document_length(text, most), std::ssize(tokenizer->encode_document(text, most)))
            << text << " " << most;
      }
    }
  }
}

TEST(Document, HasTokensBelowTheNumberOfTypes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const TextUnits units : kFixed) {
    const auto tokenizer = fixed(units);
    for (const Token token : tokenizer->encode_document(all, 0)) {
      EXPECT_GE(token, 0);
      EXPECT_LT(token, tokenizer->size());
    }
  }
}

TEST(Document, OfListOpsIsAText) {
  const auto tokenizer = fixed(TextUnits::listops);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("( [MAX 2 9 ) ]\n[SM 1 x ]")), "[MAX 2 9 ]\n[SM 1 <unk> ]");
  EXPECT_EQ(tokenizer->vocabulary(), "");
}

// In the units that are learnt.
class LearntDocument : public ::testing::TestWithParam<TextUnits> {
 protected:
  LearntDocument() : tokenizer_(learn(GetParam())) {}

  Tokens encode(std::string_view text, int64_t max_length = 0) const {
    return tokenizer_->encode_document(text, max_length);
  }
  Tokens line(std::string_view text) const {
    Tokens tokens;
    tokenizer_->encode_line(text, tokens);
    return tokens;
  }

  const std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(LearntDocument, IsALineAndItsEnd) {
  Tokens expected = line("a good film 7");
  EXPECT_EQ(std::count(expected.begin(), expected.end(), kUnknown), 0);
  expected.push_back(kEnd);
  EXPECT_EQ(encode("a good film 7"), expected);
  EXPECT_EQ(encode(""), Tokens{kEnd});
}

TEST_P(LearntDocument, HasABlankForALineBreak) {
  const Tokens expected = encode("a good film");
  EXPECT_EQ(encode("a\ngood\r\nfilm"), expected);
  EXPECT_EQ(encode("a good film\n"), expected);
  EXPECT_EQ(encode("a good film\r\n\n"), expected);
  EXPECT_EQ(encode("a\n\ngood film"), encode("a  good film"));
  EXPECT_EQ(encode("\ngood"), encode(" good"));
  EXPECT_EQ(encode("\n"), Tokens{kEnd});
  for (const Token token : line("a good film")) EXPECT_NE(token, kEnd);
}

TEST_P(LearntDocument, IsTheBeginningWhereItIsLong) {
  const std::string text = "film 7 good \n a \xC3\xA9 film";
  const Tokens whole = encode(text);
  for (int64_t most = 1; most <= std::ssize(whole) + 1; ++most) {
    Tokens expected(whole.begin(), whole.begin() + std::min(most, std::ssize(whole)) - 1);
    expected.push_back(kEnd);
    EXPECT_EQ(encode(text, most), expected) << most;
    EXPECT_EQ(tokenizer_->document_length(text, most), std::ssize(expected)) << most;
  }
  EXPECT_EQ(tokenizer_->document_length(text, 0), std::ssize(whole));
}

TEST_P(LearntDocument, MayHoldAnyBytes) {
  std::string text;
  for (int byte = 255; byte >= 0; --byte) text += static_cast<char>(byte);
  text += "good";
  const Tokens tokens = encode(text);
  EXPECT_EQ(tokens.back(), kEnd);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), kEnd), 1);
  for (const Token token : tokens) {
    EXPECT_GE(token, kEnd);
    EXPECT_LT(token, tokenizer_->size());
  }
  EXPECT_EQ(tokenizer_->document_length(text, 0), std::ssize(tokens));
}

// A text of many megabytes, of which little is read.
TEST_P(LearntDocument, MayBeVeryLong) {
  std::string text;
  while (text.size() < (size_t{5} << 20)) text += "a good film\n";
  const Tokens tokens = encode(text, 100);
  EXPECT_EQ(tokens, encode(text.substr(0, 3000), 100));
  EXPECT_EQ(tokenizer_->document_length(text, 100), 100);
}

INSTANTIATE_TEST_SUITE_P(Units, LearntDocument,
                         ::testing::Values(TextUnits::characters, TextUnits::words, TextUnits::sentencepiece),
                         [](const auto& of) { return std::string(to_string(of.param)); });

TEST(AsLine, ReplacesLineBreaks) {
  EXPECT_EQ(as_line(""), "");
  EXPECT_EQ(as_line("a b"), "a b");
  EXPECT_EQ(as_line("a\nb\r\nc\n\nd"), "a b c  d");
  EXPECT_EQ(as_line("a\rb\r\r\nc"), "a\rb\r c");
  EXPECT_EQ(as_line("a\n\r\n"), "a");
  EXPECT_EQ(as_line("\n \n"), "  ");
}

}  // namespace
}  // namespace mega
