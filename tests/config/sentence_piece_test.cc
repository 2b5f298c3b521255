#include "mega/config/sentence_piece.h"

#include <gtest/gtest.h>

#include <thread>

#include "mega/base/random.h"
#include "mega/config/line_sample.h"
#include "mega/config/tokens.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;

// Random bits by number.
uint64_t bits(uint64_t number) { return stream_seed(5, "sentence_piece_test", number); }

// A small language: words of two or three of its syllables.
std::string sentence(uint64_t number) {
  const std::vector<std::string> syllables = {"ka", "to", "mi", "re", "sun", "vel", "dor", "é", "ni", "gal"};
  std::string text;
  for (uint64_t word = 0; word < 10; ++word) {
    if (word > 0) text += ' ';
    for (uint64_t n = 2 + bits(number * 100 + word) % 2; n-- > 0;)
      text += syllables[bits(number * 100 + word % 5 + n) % syllables.size()];
  }
  return text;
}

std::unique_ptr<Tokenizer> learn(int64_t vocabulary, uint64_t lines = 300) {
  const auto builder =
      make_tokenizer_builder({.units = LanguageUnits::sentencepiece, .vocabulary = vocabulary});
  for (uint64_t i = 0; i < lines; ++i) builder->add_line(sentence(i));
  return builder->finish();
}

std::unique_ptr<Tokenizer> load(std::string_view model) {
  return make_tokenizer(LanguageUnits::sentencepiece, model, "model.bin");
}

const Tokenizer& shared() {
  static const std::unique_ptr<Tokenizer> tokenizer = learn(400);
  return *tokenizer;
}

TEST(SentencePiece, LearnsPiecesLongerThanLetters) {
  EXPECT_EQ(shared().size(), 400);
  const std::string text = sentence(1'000);
  EXPECT_LT(shared().encode(text).size(), text.size() / 2) << text;
}

TEST(SentencePiece, TokensAreSpecialsThenBytesThenPieces) {
  EXPECT_EQ(shared().text(kStart, true), "");
  EXPECT_EQ(shared().text(kEnd, false), "\n");
  EXPECT_EQ(shared().text(kUnknown, false), "\uFFFD");
  EXPECT_EQ(shared().text(kFirstSymbol + 'A', true), "A");
  EXPECT_EQ(shared().text(kFirstSymbol + 255, true), "\xff");
  EXPECT_THROW(shared().text(400, true), Error);
  const auto blank = shared().encode(" ");
  ASSERT_EQ(blank.size(), 1u);
  EXPECT_GE(blank[0], kFirstSymbol + 256) << "frequent in the text";
  EXPECT_EQ(shared().text(blank[0], true), " ") << "also where a line begins";
}

TEST(SentencePiece, NamesOfSpecialsAreOrdinaryText) {
  for (const char* text : {"<unk>", "<s>", "</s>", "<pad>", "<0x41>"}) {
    for (const int32_t token : shared().encode(text)) EXPECT_GE(token, kFirstSymbol) << text;
    EXPECT_EQ(shared().decode(shared().encode(text)), text);
  }
}

TEST(SentencePiece, EveryTextComesBackAsItWas) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "\n"sv, " "sv, "   "sv, " kato"sv, "kato "sv, "  kato   mire\n\n  sun"sv, "a\tb\t\tc\r\n"sv,
        "\U0001F600\u200D\U0001F680"sv, "\uFF21\u00a0\u3000e\u0301\uFFFD\uFEFF"sv, "\u2581_\u2585"sv,
        "nul\0nul"sv, "\x80\xff kato\xc3"sv, "\xed\xa0\x80\xf4\x90\x80\x80"sv})
    EXPECT_EQ(shared().decode(shared().encode(text)), text);
}

TEST(SentencePiece, RandomTextComesBackAsItWas) {
  const std::vector<std::string> parts = {"ka",         "to ",    " ",  "\t",    "\u2581", "漢",
                                          "\U0001F600", "\u2585", "é",  "\n",    "\u00a0", "<",
                                          "\U000F1234", "0",      "\r", "\uFFFD"};
  for (uint64_t trial = 0; trial < 500; ++trial) {
    std::string valid;
    std::string bytes;
    for (uint64_t n = bits(trial) % 60; n-- > 0;) {
      const uint64_t random = bits(1'000 + trial * 60 + n);
      valid += parts[random % parts.size()];
      bytes += static_cast<char>(random >> 32);
    }
    EXPECT_EQ(shared().decode(shared().encode(valid)), valid);
    EXPECT_EQ(shared().decode(shared().encode(bytes)), bytes);
  }
}

TEST(SentencePiece, TheSameTextGivesTheSameModel) {
  EXPECT_EQ(learn(400)->vocabulary(), shared().vocabulary());
  EXPECT_NE(learn(400, 299)->vocabulary(), shared().vocabulary());
}

TEST(SentencePiece, TheSavedModelIsTheSameTokenizer) {
  const auto again = load(shared().vocabulary());
  EXPECT_EQ(again->size(), shared().size());
  EXPECT_EQ(again->vocabulary(), shared().vocabulary());
  EXPECT_EQ(again->encode(sentence(7)), shared().encode(sentence(7)));
}

TEST(SentencePiece, ManyThreadsReadOneTokenizer) {
  const auto expected = shared().encode(sentence(3));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t i = 0; i < wrong.size(); ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 200; ++n) wrong[i] += shared().encode(sentence(3)) != expected;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(SentencePiece, ATextTooSmallGivesASmallerVocabulary) {
  const auto builder =
      make_tokenizer_builder({.units = LanguageUnits::sentencepiece, .vocabulary = int64_t{1} << 30});
  builder->add_line("a");
  const auto tokenizer = builder->finish();
  EXPECT_GT(tokenizer->size(), 260);
  EXPECT_LT(tokenizer->size(), 300);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a b")), "a b");
}

TEST(SentencePiece, TextsThatItCannotLearnFromAreErrors) {
  for (const std::string_view text : {std::string_view(""), std::string_view("\t\xff\u2581\u2585\0", 9)}) {
    const auto builder = make_tokenizer_builder({.units = LanguageUnits::sentencepiece});
    builder->add_line(text);
    EXPECT_PRED2(contains, error_of([&] { builder->finish(); }), "nothing that SentencePiece can learn from");
  }
}

TEST(SentencePiece, VocabulariesTooSmallAreErrors) {
  EXPECT_PRED2(contains, error_of([] { learn(260); }), "260 has no room for pieces");
  EXPECT_PRED2(contains, error_of([] { learn(261); }), "cannot learn a vocabulary of 261");
}

TEST(SentencePiece, AVeryLongLineIsLearntInParts) {
  std::string line;
  for (uint64_t i = 0; i < 300; ++i) line += sentence(i) + " ";
  const auto builder = make_tokenizer_builder({.units = LanguageUnits::sentencepiece, .vocabulary = 400});
  builder->add_line(line);
  EXPECT_EQ(builder->finish()->size(), 400);
}

TEST(SentencePiece, DamagedModelsAreErrors) {
  EXPECT_PRED2(contains, error_of([] { load(""); }), "model.bin: ");
  EXPECT_PRED2(contains, error_of([] { load("no model"); }),
               "model.bin: the model of SentencePiece is damaged");
  const std::string model = shared().vocabulary();
  for (size_t length = 0; length < model.size(); length += 1 + length / 100)
    EXPECT_THROW(load(std::string_view(model).substr(0, length)), Error) << length;
  for (size_t missing = 1; missing < 100; ++missing)
    EXPECT_THROW(load(std::string_view(model).substr(0, model.size() - missing)), Error) << missing;
}

TEST(SentencePiece, ModelsWithWrongBytesDoNotCrash) {
  for (uint64_t trial = 0; trial < 300; ++trial) {
    std::string model = shared().vocabulary();
    for (uint64_t n = 0; n < 4; ++n) {
      const uint64_t random = bits(100'000 + trial * 4 + n);
      model[(random >> 8) % model.size()] = static_cast<char>(random);
    }
    try {
      load(model)->encode(sentence(trial));
    } catch (const Error&) {
    }
  }
}

// A field of Protocol Buffers with bytes, shorter than 128.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

TEST(SentencePiece, ATableForChangingCharactersIsRefused) {
  // A trie of 16 bytes that points far beyond itself.
  const std::string table = std::string("\x10\0\0\0", 4) + std::string(16, '\x7f') + "replacement";
  const std::string model = shared().vocabulary();
  EXPECT_PRED2(contains, error_of([&] { load(model + field(3, field(2, table))); }), "it changes characters");
  EXPECT_NO_THROW(load(model + field(3, field(2, ""))));
}

TEST(LineSample, KeepsAllThatFits) {
  LineSample sample(1'000'000);
  for (int i = 0; i < 100; ++i) sample.add(std::to_string(i));
  ASSERT_EQ(sample.lines().size(), 100u);
  EXPECT_EQ(sample.lines()[42].text, "42");
}

TEST(LineSample, IsEvenAndBounded) {
  LineSample sample(100'000);
  for (int i = 0; i < 100'000; ++i) sample.add(std::to_string(i));
  size_t bytes = 0;
  size_t first_half = 0;
  for (const auto& line : sample.lines()) {
    bytes += line.text.size() + sizeof(line);
    first_half += std::stoi(line.text) < 50'000;
  }
  EXPECT_LE(bytes, 100'000u);
  EXPECT_GT(bytes, 40'000u);
  EXPECT_NEAR(static_cast<double>(first_half) / static_cast<double>(sample.lines().size()), 0.5, 0.05);
}

}  // namespace
}  // namespace mega
