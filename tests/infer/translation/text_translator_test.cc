// Lines of text to translations: order, parts, n-best, alignments, unknown words, and hostile lines.
#include "mega/infer/translation/text_translator.h"

#include <gtest/gtest.h>

#include "mega/base/error.h"
#include "mega/base/utf8.h"
#include "mega/infer/models/translator.h"
#include "mega/infer/models/translator_decoder.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"
#include "tests/infer/translation/table_decoder.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;
using testing::TableDecoder;
using Tokens = std::vector<Token>;
using Lines = std::vector<std::string>;

// Words: a = 4, b = 5, c = 6, "." = 7, A = 8, B = 9.
constexpr int64_t kTypes = 10;

TranslationTexts word_texts() {
  const std::shared_ptr<const Tokenizer> words =
      make_tokenizer(TextUnits::words, "a\nb\nc\n.\nA\nB\n", "test");
  TranslationTextOptions options;
  options.language = "en";
  return {{options, words}, {options, words}};
}

// Copies the source, then ends; `for_b` is written for b.
std::shared_ptr<TableDecoder> copier(Token for_b = 5) {
  return std::make_shared<TableDecoder>(kTypes, [=](const Tokens& source, const Tokens& target) {
    std::vector<float> logits(kTypes, 0.0f);
    logits[kEnd] = -20.0f;
    const Token next = target.size() < source.size() ? source[target.size()] : Token{kEnd};
    logits[static_cast<size_t>(next == 5 ? for_b : next)] = 20.0f;
    return logits;
  });
}

TextTranslator copying(const TranslateOptions& options = {}, int64_t longest = 0) {
  return TextTranslator(copier(), word_texts(), longest, options);
}

Lines texts_of(const std::vector<TranslatedLine>& lines) {
  Lines texts;
  for (const TranslatedLine& line : lines) texts.push_back(line.translations.at(0).text);
  return texts;
}

TEST(TextTranslatorTest, AnswersInOrderWithEmptyLinesAndUnknownWords) {
  const Lines lines = {"a b c", "", "c", "   ", "b b b b b b b b", "a x", "x y z"};
  const std::vector<TranslatedLine> translated = copying().translate(lines);
  EXPECT_EQ(texts_of(translated),
            (Lines{"a b c", "", "c", "", "b b b b b b b b", "a <unk>", "<unk> <unk> <unk>"}));
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(translated[i].number, static_cast<int64_t>(i));
    EXPECT_EQ(translated[i].source, lines[i]);
    EXPECT_FALSE(translated[i].too_long);
  }
  EXPECT_EQ(translated[0].translations[0].alignment, "0-0 1-1 2-2");
  EXPECT_EQ(translated[0].translations[0].tokens, 4);
  EXPECT_LT(translated[0].translations[0].log_probability, 0.0);
  EXPECT_EQ(translated[1].translations.size(), 1u);
  EXPECT_EQ(translated[1].parts, 0);
}

// Any batch size gives the same, for many lines of different lengths.
TEST(TextTranslatorTest, BatchesDoNotChangeAnswers) {
  Lines lines;
  for (int i = 0; i < 700; ++i) {
    std::string line;
    for (int k = 0; k < i * 7919 % 13; ++k) line += std::string(k > 0 ? " " : "") + "abc"[(i + k * k) % 3];
    lines.push_back(line);
  }
  for (const int64_t batch : {1, 3, 32}) {
    TranslateOptions options;
    options.batch = batch;
    options.batch_tokens = batch == 3 ? 5 : 4096;
    EXPECT_EQ(texts_of(copying(options).translate(lines)), lines) << batch;
  }
}

TEST(TextTranslatorTest, CutsWhatIsTooLong) {
  // Sentences first.
  const std::vector<TranslatedLine> sentences = copying({}, 5).translate(Lines{"A a . B b b . A c ."});
  EXPECT_EQ(texts_of(sentences), Lines{"A a . B b b . A c ."});
  EXPECT_EQ(sentences[0].parts, 3);
  EXPECT_TRUE(sentences[0].too_long);
  EXPECT_EQ(sentences[0].translations[0].alignment, "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9");

  // Then words; nothing is lost, and a word may be longer than all that is allowed.
  std::string many = "a";
  for (int i = 1; i < 10000; ++i) many += i % 3 == 0 ? " b" : " a";
  const std::vector<TranslatedLine> halves = copying({}, 100).translate(Lines{many, "c"});
  EXPECT_TRUE(texts_of(halves) == (Lines{many, "c"}));
  EXPECT_GE(halves[0].parts, 101);
  EXPECT_FALSE(halves[1].too_long);
  EXPECT_EQ(texts_of(copying({}, 1).translate(Lines{"a b"})), Lines{""});
}

TEST(TextTranslatorTest, SplitsRunningTextAndKeepsTags) {
  TranslateOptions options;
  options.split = true;
  const std::vector<TranslatedLine> translated =
      copying(options).translate(Lines{"A a . B b .", "<p>", "  <a b>", "<a> b <c>", ""});
  EXPECT_EQ(texts_of(translated), (Lines{"A a . B b .", "<p>", "  <a b>", "<unk> b <unk>", ""}));
  EXPECT_EQ(translated[0].parts, 2);
  EXPECT_FALSE(translated[0].too_long);
}

TEST(TextTranslatorTest, ReplacesUnknownWords) {
  TranslateOptions options;
  TextTranslator plain(copier(kUnknown), word_texts(), 0, options);
  EXPECT_EQ(texts_of(plain.translate(Lines{"a b c"})), Lines{"a <unk> c"});
  options.replace_unknown = true;
  TextTranslator replacing(copier(kUnknown), word_texts(), 0, options);
  EXPECT_EQ(texts_of(replacing.translate(Lines{"a b Zürich c"})), Lines{"a b Zürich c"});
}

TEST(TextTranslatorTest, BestAreSortedAndDistinct) {
  TranslateOptions options;
  options.search.nbest = 4;
  TextTranslator translator(std::make_shared<TableDecoder>(TableDecoder::random(kTypes, 3)), word_texts(), 0,
                            options);
  const std::vector<TranslatedLine> translated = translator.translate(Lines{"a b", "c"});
  for (const TranslatedLine& line : translated) {
    ASSERT_EQ(line.translations.size(), 4u);
    for (size_t i = 1; i < 4; ++i) EXPECT_LE(line.translations[i].score, line.translations[i - 1].score);
  }
}

TEST(TextTranslatorTest, BeginsWithThePrefix) {
  const std::vector<TranslatedLine> translated = copying().translate(Lines{"a b c", "b"}, "c c");
  EXPECT_EQ(texts_of(translated), (Lines{"c c c", "c c"}));
}

TEST(TextTranslatorTest, StopsWithWhatIsFinished) {
  Lines used;
  int asked = 0;
  size_t next = 0;
  TranslateOptions options;
  options.batch = 2;
  options.search.beam = 1;
  TextTranslator translator(copier(), word_texts(), 0, options);
  TranslateRequest request;
  request.next_line = [&]() -> std::optional<std::string> {
    return next < 100 ? std::optional(std::string(next++ % 2 == 0 ? "a" : "b")) : std::nullopt;
  };
  request.use = [&](const TranslatedLine& line) { used.push_back(line.translations.at(0).text); };
  request.go_on = [&] { return ++asked <= 60; };
  translator.translate(request);
  ASSERT_GT(used.size(), 4u);
  ASSERT_LT(used.size(), 100u);
  for (size_t i = 0; i < used.size(); ++i) EXPECT_EQ(used[i], i % 2 == 0 ? "a" : "b");
}

// An input that breaks off: what came before it is translated.
TEST(TextTranslatorTest, TranslatesWhatCameBeforeAnError) {
  Lines used;
  int next = 0;
  TextTranslator translator = copying();
  TranslateRequest request;
  request.next_line = [&]() -> std::optional<std::string> {
    if (next++ == 3) fail("the file is damaged");
    return "a";
  };
  request.use = [&](const TranslatedLine& line) { used.push_back(line.translations.at(0).text); };
  EXPECT_PRED2(contains, error_of([&] { translator.translate(request); }), "damaged");
  EXPECT_EQ(used, (Lines{"a", "a", "a"}));
}

// Lines that nobody waits for are not waited for.
TEST(TextTranslatorTest, AnswersBeforeItWaits) {
  std::vector<size_t> used_when_read;
  size_t used = 0;
  TextTranslator translator = copying();
  TranslateRequest request;
  request.next_line = [&]() -> std::optional<std::string> {
    used_when_read.push_back(used);
    return used_when_read.size() <= 3 ? std::optional<std::string>("a") : std::nullopt;
  };
  request.wait_for_more = [] { return false; };
  request.use = [&](const TranslatedLine&) { ++used; };
  translator.translate(request);
  EXPECT_EQ(used_when_read, (std::vector<size_t>{0, 1, 2, 3}));
}

// A model of bytes writes anything; lines stay lines, in order, of valid text.
TEST(TextTranslatorTest, HostileLinesOfBytes) {
  const testing::ScratchFolder folder;
  TranslatorOptions model = testing::tiny_translator();
  model.vocabulary = 264;
  Signature signature;
  TranslationInput input;
  input.max_length = 40;
  signature.input.input = input;
  testing::write_random_model(folder / "model", {model}, 1, &signature);
  const auto opened = Translator::open(folder / "model");
  const auto pool = std::make_shared<ThreadPool>(1);
  TranslateOptions options;
  options.search.max_length = 12;
  options.search.beam = 2;
  TextTranslator translator(std::make_shared<TranslatorDecoder>(opened, pool),
                            make_translation_texts(signature, 264, 264), input.max_length, options);
  const Lines lines = {"plain",
                       "",
                       std::string("\0\0null\0", 7),
                       "\xff\xfe\x80 not UTF-8",
                       "half a character \xc3",
                       std::string(300, '\x01'),
                       "\r",
                       "日本語日本語日本語日本語日本語日本語"};
  const std::vector<TranslatedLine> translated = translator.translate(lines);
  ASSERT_EQ(translated.size(), lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(translated[i].source, lines[i]);
    const std::string& text = translated[i].translations.at(0).text;
    EXPECT_EQ(text, valid_utf8(text));
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
  EXPECT_TRUE(translated[5].too_long);
  EXPECT_TRUE(translated[7].too_long);
  // Alone as in company.
  for (size_t i = 0; i < lines.size(); ++i)
    EXPECT_EQ(translator.translate(std::span(lines).subspan(i, 1)).at(0).translations.at(0).text,
              translated[i].translations.at(0).text);
}

TEST(TextTranslatorTest, WrongOptions) {
  TranslateOptions options;
  options.search.nbest = 6;
  EXPECT_PRED2(contains, error_of([&] { copying(options); }), "beam");
  options = {};
  options.batch = 0;
  EXPECT_PRED2(contains, error_of([&] { copying(options); }), "batch");
}

}  // namespace
}  // namespace mega::infer
