// Translation through the C interface, compared with the same models through the C++ interface.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "mega/base/files/file.h"
#include "mega/infer/models/translator_decoder.h"
#include "mega/infer/translation/text_translator.h"
#include "mega/mega.h"
#include "tests/base/helpers.h"
#include "tests/infer/c/c_handle.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;

using CTranslator = Handle<mega_translator, mega_translator_close>;

class CTranslatorTest : public ::testing::Test {
 protected:
  CTranslatorTest() {
    TranslatorOptions model = testing::tiny_translator();
    model.vocabulary = 264;
    signature_.input.input.emplace<TranslationInput>().max_length = 50;
    testing::write_random_model(path_, {model}, 1, &signature_);
    mega_translator* opened = nullptr;
    EXPECT_EQ(mega_translator_open(path_.c_str(), 1, &opened, &error_), MEGA_OK) << error_.message;
    translator_.reset(opened);
  }

  struct Got {
    std::vector<std::string> texts;
    std::vector<size_t> lines, ranks;
    std::vector<double> scores;
    size_t most = 1000;
  };

  static int32_t take(void* context, size_t line, size_t rank, const char* text, size_t bytes, double score) {
    Got& got = *static_cast<Got*>(context);
    got.texts.emplace_back(text, bytes);
    got.lines.push_back(line);
    got.ranks.push_back(rank);
    got.scores.push_back(score);
    return got.texts.size() >= got.most ? 1 : 0;
  }

  mega_status translate(Got& got, const mega_search* search) {
    std::vector<const char*> texts;
    std::vector<size_t> bytes;
    for (const std::string& line : lines_) {
      texts.push_back(line.empty() ? nullptr : line.data());
      bytes.push_back(line.size());
    }
    return mega_translate(translator_.get(), texts.data(), bytes.data(), texts.size(), search, take, &got,
                          &error_);
  }

  testing::ScratchFolder folder_;
  std::filesystem::path path_ = folder_ / "translator";
  Signature signature_;
  mega_error error_{};
  CTranslator translator_;
  std::vector<std::string> lines_ = {"a line", "", std::string("null\0 \xff\n byte", 15),
                                     std::string(200, 'x')};
};

TEST_F(CTranslatorTest, TranslatesAsTheLibrary) {
  mega_search search = MEGA_SEARCH_DEFAULT;
  search.beam = 3;
  search.nbest = 2;
  search.max_length = 10;
  Got got;
  ASSERT_EQ(translate(got, &search), MEGA_OK) << error_.message;

  TranslateOptions options;
  options.search.beam = 3;
  options.search.nbest = 2;
  options.search.max_length = 10;
  TextTranslator same(
      std::make_shared<TranslatorDecoder>(Translator::open(path_), std::make_shared<ThreadPool>(1)),
      make_translation_texts(signature_, 264, 264), 50, options);
  size_t next = 0;
  for (const TranslatedLine& line : same.translate(lines_))
    for (size_t rank = 0; rank < line.translations.size(); ++rank, ++next) {
      ASSERT_LT(next, got.texts.size());
      EXPECT_EQ(got.texts[next], line.translations[rank].text);
      EXPECT_EQ(got.scores[next], line.translations[rank].score);
      EXPECT_EQ(got.lines[next], static_cast<size_t>(line.number));
      EXPECT_EQ(got.ranks[next], rank);
    }
  EXPECT_EQ(next, got.texts.size());
  EXPECT_EQ(next, 7u);  // one of the empty line
}

TEST_F(CTranslatorTest, StopsWhenItIsTold) {
  Got got;
  got.most = 2;
  ASSERT_EQ(translate(got, nullptr), MEGA_OK) << error_.message;
  EXPECT_EQ(got.lines, (std::vector<size_t>{0, 1}));
}

TEST_F(CTranslatorTest, WrongUse) {
  mega_search search = MEGA_SEARCH_DEFAULT;
  search.nbest = 6;
  Got got;
  EXPECT_EQ(translate(got, &search), MEGA_ERROR_REQUEST);
  EXPECT_PRED2(contains, error_.message, "beam");
  const char* line = nullptr;
  size_t bytes = 3;
  EXPECT_EQ(mega_translate(translator_.get(), &line, &bytes, 1, nullptr, take, &got, &error_),
            MEGA_ERROR_REQUEST);
  EXPECT_EQ(mega_translate(translator_.get(), &line, &bytes, 0, nullptr, nullptr, &got, &error_),
            MEGA_ERROR_REQUEST);
  EXPECT_EQ(mega_translate(nullptr, &line, &bytes, 0, nullptr, take, &got, &error_), MEGA_ERROR_REQUEST);
  EXPECT_EQ(mega_translate(translator_.get(), nullptr, nullptr, 0, nullptr, take, &got, &error_), MEGA_OK);
  EXPECT_TRUE(got.texts.empty());
  mega_translator* opened = nullptr;
  testing::write_random_model(folder_ / "bare", {testing::tiny_translator()});
  EXPECT_EQ(mega_translator_open((folder_ / "bare").c_str(), 1, &opened, &error_), MEGA_ERROR_REQUEST);
  EXPECT_PRED2(contains, error_.message, "no description");
  mega_model* model = nullptr;
  EXPECT_EQ(mega_model_open(path_.c_str(), &model, &error_), MEGA_ERROR_REQUEST);
  mega_input input = MEGA_INPUT_UNKNOWN;
  EXPECT_EQ(mega_input_of(path_.c_str(), &input, &error_), MEGA_OK);
  EXPECT_EQ(input, MEGA_INPUT_TRANSLATION);
}

}  // namespace
}  // namespace mega::infer
