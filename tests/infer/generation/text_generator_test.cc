#include "mega/infer/generation/text_generator.h"

#include <gtest/gtest.h>

#include "mega/base/utf8.h"
#include "mega/infer/session.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

class TextGeneratorTest : public ::testing::Test {
 protected:
  TextGeneratorTest() {
    const Signature signature = testing::byte_signature();
    testing::write_random_model(folder_ / "model", {testing::tiny_language_model()}, 1, &signature);
    model_ = LanguageModel::open(folder_ / "model");
  }
  std::shared_ptr<Session> session() const {
    return std::make_shared<Session>(model_, std::make_shared<ThreadPool>(1));
  }
  static std::string all(TextGenerator& text) {
    std::string result;
    for (std::string piece = text.next(); !piece.empty(); piece = text.next()) result += piece;
    return result;
  }

  const ScratchFolder folder_;
  std::shared_ptr<const LanguageModel> model_;
};

TEST_F(TextGeneratorTest, IsWhatGenerateGives) {
  const Tokenizer& tokenizer = model_->tokenizer();
  for (const std::string prompt : {"", "Hello\n", "\u4e16"})
    for (const int64_t count : {0, 1, 50}) {
      GenerateOptions options;
      options.max_tokens = count;
      options.sampler.seed = count;
      options.stop = {"zz"};
      const auto pulled = session(), pushed = session();
      TextGenerator text(pulled, tokenizer, tokenizer.encode(prompt), options);
      const GenerateResult expected =
          generate(*pushed, tokenizer, tokenizer.encode(prompt), options, [](auto) { return true; });
      EXPECT_EQ(all(text), expected.text);
      EXPECT_EQ(text.tokens(), std::ssize(expected.tokens));
      EXPECT_EQ(pulled->position(), pushed->position());
      EXPECT_EQ(text.next(), "");
    }
}

TEST_F(TextGeneratorTest, NothingIsReadIfItCannotBegin) {
  const auto own = session();
  GenerateOptions options;
  options.sampler.top_p = 2;
  EXPECT_PRED2(contains, error_of([&] { TextGenerator(own, model_->tokenizer(), {}, options); }), "top_p");
  const std::vector<int32_t> unknown = {100000};
  EXPECT_PRED2(contains, error_of([&] { TextGenerator(own, model_->tokenizer(), unknown, {}); }), "100000");
  EXPECT_EQ(own->position(), 0);
}

// Fails after some tokens.
class Failing : public Predictor {
 public:
  explicit Failing(int64_t vocabulary) : logits_(static_cast<size_t>(vocabulary)) {}
  void feed(std::span<const int32_t> tokens) override {
    require(position_ < 3, "too long");
    position_ += std::ssize(tokens);
  }
  std::span<const float> logits() override { return logits_; }
  int64_t position() const override { return position_; }

 private:
  std::vector<float> logits_;
  int64_t position_ = 0;
};

TEST_F(TextGeneratorTest, NothingComesAfterAnError) {
  const auto failing = std::make_shared<Failing>(model_->options().vocabulary);
  GenerateOptions options;
  options.sampler.seed = 3;
  TextGenerator text(failing, model_->tokenizer(), {}, options);
  EXPECT_PRED2(contains, error_of([&] { all(text); }), "too long");
  EXPECT_EQ(text.next(), "");
}

}  // namespace
}  // namespace mega::infer
