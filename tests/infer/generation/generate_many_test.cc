#include "mega/infer/generation/generate_many.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mega/base/random.h"
#include "mega/text/byte_tokenizer.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;

// A predictor whose distribution over letters depends on all it has read.
class Hashing : public Predictor {
 public:
  explicit Hashing(int64_t& alive) : alive_(alive) { ++alive_; }
  ~Hashing() override { --alive_; }

  void feed(std::span<const int32_t> tokens) override {
    for (const int32_t token : tokens) hash_ = mix_bits(hash_ + static_cast<uint64_t>(token) + 1);
    position_ += std::ssize(tokens);
  }
  std::span<const float> logits() override {
    require(position_ > 0, "nothing was fed");
    logits_.assign(260, -1e9F);
    for (size_t letter = 'a'; letter <= 'z'; ++letter)
      logits_[kFirstSymbol + letter] = static_cast<float>(mix_bits(hash_ + letter) % 1000) / 200.0F;
    return logits_;
  }
  int64_t position() const override { return position_; }

 private:
  int64_t& alive_;
  uint64_t hash_ = 0;
  int64_t position_ = 0;
  std::vector<float> logits_;
};

class HashingSource : public PredictorSource {
 public:
  explicit HashingSource(std::vector<int32_t> beginning = {}) : beginning_(std::move(beginning)) {}

  std::unique_ptr<Predictor> make() const override {
    auto predictor = std::make_unique<Hashing>(alive);
    predictor->feed(beginning_);
    most = std::max(most, alive);
    return predictor;
  }
  void feed(std::span<Predictor* const> predictors,
            std::span<const std::span<const int32_t>> tokens) const override {
    together.push_back(predictors.size());
    PredictorSource::feed(predictors, tokens);
  }

  mutable int64_t alive = 0, most = 0;
  mutable std::vector<size_t> together;  // batch size of each feed

 private:
  std::vector<int32_t> beginning_;
};

const std::vector<std::string> kPrompts = {"the cat", "",    "a\nb\n", std::string(5000, 'x'),
                                           "the cat", "dog", "e"};

GenerateManyRequest request_for(const std::vector<std::string>& prompts, std::vector<PromptAnswer>& answers) {
  GenerateManyRequest request;
  request.options.max_tokens = 30;
  request.options.stop = {"e"};  // so that texts end at different times
  request.options.sampler.seed = 7;
  request.next_prompt = [prompts, next = size_t{0}]() mutable -> std::optional<std::string> {
    if (next == prompts.size()) return std::nullopt;
    return prompts[next++];
  };
  request.use = [&answers](const PromptAnswer& answer) { answers.push_back(answer); };
  request.go_on = [] { return true; };
  return request;
}

// The result of generate() for a single prompt.
GenerateResult alone(const std::string& prompt, GenerateOptions options, int64_t number) {
  const auto tokenizer = make_byte_tokenizer();
  HashingSource source;
  options.sampler.seed += number;
  const auto predictor = source.make();
  return generate(*predictor, *tokenizer, tokenizer->encode(prompt), options,
                  [](std::string_view) { return true; });
}

TEST(GenerateMany, EqualsGenerateForEachPrompt) {
  const auto tokenizer = make_byte_tokenizer();
  for (const int64_t batch : {1, 3, 8}) {
    SCOPED_TRACE(batch);
    HashingSource source;
    std::vector<PromptAnswer> answers;
    GenerateManyRequest request = request_for(kPrompts, answers);
    request.batch = batch;
    generate_many(source, *tokenizer, request);
    ASSERT_EQ(answers.size(), kPrompts.size());
    for (size_t i = 0; i < answers.size(); ++i) {
      SCOPED_TRACE(i);
      const GenerateResult expected = alone(kPrompts[i], request.options, static_cast<int64_t>(i));
      EXPECT_EQ(answers[i].number, static_cast<int64_t>(i));
      EXPECT_EQ(answers[i].prompt, kPrompts[i]);
      EXPECT_EQ(answers[i].prompt_tokens, tokenizer->encode(kPrompts[i]));
      EXPECT_EQ(answers[i].result.text, expected.text);
      EXPECT_EQ(answers[i].result.tokens, expected.tokens);
      EXPECT_EQ(answers[i].result.reason, expected.reason);
      EXPECT_DOUBLE_EQ(answers[i].result.mean_log_probability, expected.mean_log_probability);
      EXPECT_GE(answers[i].result.seconds, 0.0);
    }
    EXPECT_NE(answers[0].result.text, answers[4].result.text) << "same prompt, different seed";
    EXPECT_EQ(source.alive, 0);
    EXPECT_EQ(source.most, std::min<int64_t>(batch, std::ssize(kPrompts)));
    EXPECT_EQ(*std::max_element(source.together.begin(), source.together.end()),
              static_cast<size_t>(source.most));
  }
}

TEST(GenerateMany, NextPromptReplacesAFinishedText) {
  HashingSource source;
  std::vector<PromptAnswer> answers;
  GenerateManyRequest request = request_for(std::vector<std::string>(40, "a"), answers);
  request.batch = 4;
  generate_many(source, *make_byte_tokenizer(), request);
  ASSERT_EQ(answers.size(), 40u);
  // The batch stays full until there are no prompts left.
  const auto first_gap =
      std::find_if(source.together.begin(), source.together.end(), [](size_t n) { return n < 4; });
  EXPECT_LT(source.together.end() - first_gap, request.options.max_tokens + 2);
}

TEST(GenerateMany, TextsMayStartFromACommonPrefix) {
  const auto tokenizer = make_byte_tokenizer();
  std::vector<int32_t> beginning = {kEnd};
  for (const int32_t token : tokenizer->encode("once upon a time")) beginning.push_back(token);
  HashingSource source(beginning);
  std::vector<PromptAnswer> answers;
  GenerateManyRequest request = request_for({"", " there"}, answers);
  generate_many(source, *tokenizer, request);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].result.text, alone("once upon a time", request.options, 0).text);
  EXPECT_EQ(answers[1].result.text, alone("once upon a time there", request.options, 1).text);
}

TEST(GenerateMany, NoTokensAndNoPrompts) {
  HashingSource source;
  std::vector<PromptAnswer> answers;
  GenerateManyRequest request = request_for({}, answers);
  generate_many(source, *make_byte_tokenizer(), request);
  EXPECT_TRUE(answers.empty());
  request = request_for({"a", "b"}, answers);
  request.options.max_tokens = 0;
  generate_many(source, *make_byte_tokenizer(), request);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].result.text, "");
  EXPECT_EQ(answers[1].result.reason, StopReason::max_tokens);
}

TEST(GenerateMany, InterruptEndsAllTexts) {
  HashingSource source;
  std::vector<PromptAnswer> answers;
  GenerateManyRequest request = request_for(std::vector<std::string>(20, "a"), answers);
  request.options.stop = {};
  request.batch = 3;
  request.go_on = [calls = 0]() mutable { return ++calls < 6; };
  generate_many(source, *make_byte_tokenizer(), request);
  ASSERT_EQ(answers.size(), 3u) << "no further prompt is started";
  for (const PromptAnswer& answer : answers) {
    EXPECT_EQ(answer.result.reason, StopReason::interrupted);
    EXPECT_EQ(answer.result.tokens.size(), 5u);
  }
}

TEST(GenerateMany, InvalidRequestsAreErrors) {
  HashingSource source;
  std::vector<PromptAnswer> answers;
  GenerateManyRequest request = request_for({"a"}, answers);
  request.batch = 0;
  EXPECT_PRED2(contains, error_of([&] { generate_many(source, *make_byte_tokenizer(), request); }), "batch");
  request.batch = 1;
  request.options.stop = {""};
  EXPECT_PRED2(contains, error_of([&] { generate_many(source, *make_byte_tokenizer(), request); }), "stop");
  EXPECT_TRUE(answers.empty());
}

}  // namespace
}  // namespace mega::infer
