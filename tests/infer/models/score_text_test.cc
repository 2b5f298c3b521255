#include "mega/infer/models/score_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mega/base/files/file.h"
#include "mega/data/corpus/corpus.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

class ScoreTexts : public ::testing::Test {
 protected:
  ScoreTexts() {
    const Signature signature = testing::byte_signature();
    testing::write_random_model(folder_ / "model", {testing::tiny_language_model()}, 1, &signature);
    model_ = LanguageModel::open(folder_ / "model");
  }

  data::TokenView text(const std::string& contents) const {
    write_file(folder_ / "text", contents);
    return data::tokenize_once(folder_ / "text", model_->tokenizer());
  }

  const ScratchFolder folder_;
  std::shared_ptr<const LanguageModel> model_;
};

TEST_F(ScoreTexts, NumbersAreThoseOfOneByOne) {
  std::vector<data::TokenView> texts;
  for (size_t i = 0; i < 7; ++i)
    texts.push_back(text(std::string(1 + i * 37 % 101, static_cast<char>('a' + i)) + " and more"));
  for (const int threads : {1, 2, 3}) {
    const auto pool = std::make_shared<ThreadPool>(threads);
    const auto scores = score_texts(model_, pool, texts);
    ASSERT_EQ(scores.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      Session session(model_, pool);
      std::vector<float> expected;
      score_text(session, texts[i], [&](int64_t begin, std::span<const float> some) {
        EXPECT_EQ(begin, std::ssize(expected));
        expected.insert(expected.end(), some.begin(), some.end());
      });
      EXPECT_EQ(scores[i], expected) << i << ", " << threads << " threads";
    }
  }
  EXPECT_TRUE(score_texts(model_, std::make_shared<ThreadPool>(2), {}).empty());
}

TEST_F(ScoreTexts, TheFirstErrorIsThrown) {
  const std::vector<data::TokenView> texts = {text("good"), {}, text("good, too")};
  EXPECT_PRED2(contains, error_of([&] { score_texts(model_, std::make_shared<ThreadPool>(2), texts); }),
               "no text to score");
}

}  // namespace
}  // namespace mega::infer
