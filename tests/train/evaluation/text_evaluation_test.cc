#include "mega/train/evaluation/text_evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mega/baselines/model_builders.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"
#include "tests/train/language_helpers.h"

namespace mega::train {
namespace {

using torch::Tensor;

constexpr int64_t kTokens = 1000;

// nats of the tokens scored_from .. end - 1, read at once from `begin` on, with `before` standing before
// them.
double nats(models::TokenModel& model, const std::vector<int32_t>& tokens, int64_t begin, int64_t end,
            int32_t before, int64_t scored_from) {
  const torch::NoGradGuard guard;
  model.eval();
  const Tensor all = torch::tensor(tokens).to(torch::kInt64);
  const Tensor first = torch::full({1}, static_cast<int64_t>(before), torch::kInt64);
  const Tensor source = torch::cat({first, all.slice(0, begin, end - 1)}).unsqueeze(0);
  const Tensor features = model.features(source)[0].slice(0, scored_from - begin);
  return model.losses(features, all.slice(0, scored_from, end)).sum().item<double>();
}

class TextEvaluationTest : public ::testing::Test {
 protected:
  testing::ScratchFolder folder_;
  const std::vector<int32_t> tokens_ = testing::alphabet_text("text", kTokens);
  const data::TokenView text_ = testing::byte_text(folder_ / "text.tokens", tokens_);
};

TEST_F(TextEvaluationTest, MegaReadsEachSegmentFromItsBeginning) {
  const ModelOptions options{testing::tiny_byte_model()};
  const auto model = baselines::make_token_model(options);
  for (const int64_t segments : {1, 3, 7}) {
    TextReading reading;
    reading.segments = segments;
    reading.positions = 64;  // a few chunks at a time, so that states are carried
    const TextEvaluation evaluation = evaluate_text(*model, options.kind().reading(), text_, reading);
    EXPECT_EQ(evaluation.score.tokens, kTokens);
    const int64_t length = (kTokens + segments - 1) / segments;
    double expected = 0.0;
    for (int64_t begin = 0; begin < kTokens; begin += length)
      expected += nats(*model, tokens_, begin, std::min(kTokens, begin + length), kEnd, begin);
    EXPECT_NEAR(evaluation.score.nats_per_token.value, expected / kTokens, 1e-5) << segments;
  }
}

TEST_F(TextEvaluationTest, AContextIsTheLengthOfASegment) {
  const ModelOptions options{testing::tiny_byte_model()};
  const auto model = baselines::make_token_model(options);
  TextReading by_context, by_segments;
  by_context.context = 250;
  by_segments.segments = 4;
  EXPECT_NEAR(evaluate_text(*model, options.kind().reading(), text_, by_context).score.nats_per_token.value,
              evaluate_text(*model, options.kind().reading(), text_, by_segments).score.nats_per_token.value,
              1e-6);
}

TEST_F(TextEvaluationTest, ATransformerReadsWithASlidingWindow) {
  TransformerLanguageOptions peer;
  peer.match(testing::tiny_byte_model());
  peer.window = 64;
  peer.stride = 24;
  const ModelOptions options{peer};
  const auto model = baselines::make_token_model(options);
  const TextEvaluation evaluation = evaluate_text(*model, options.kind().reading(), text_, {});
  EXPECT_EQ(evaluation.score.tokens, kTokens);
  double expected = nats(*model, tokens_, 0, 64, kEnd, 0);
  for (int64_t scored = 64; scored < kTokens; scored += 24) {
    const int64_t end = std::min(kTokens, scored + 24), begin = end - 64;
    expected += nats(*model, tokens_, begin, end, tokens_[static_cast<size_t>(begin) - 1], scored);
  }
  EXPECT_NEAR(evaluation.score.nats_per_token.value, expected / kTokens, 1e-5);
}

TEST_F(TextEvaluationTest, TellsHowFarItIs) {
  const ModelOptions options{testing::tiny_byte_model()};
  const auto model = baselines::make_token_model(options);
  TextReading reading;
  int64_t last = 0;
  reading.progress = [&](int64_t tokens) {
    EXPECT_GT(tokens, last);
    last = tokens;
  };
  evaluate_text(*model, options.kind().reading(), text_, reading);
  EXPECT_EQ(last, kTokens);
}

TEST_F(TextEvaluationTest, TellsWhatEachTokenHas) {
  const LanguageModelOptions mega = testing::tiny_byte_model();
  TransformerLanguageOptions peer;
  peer.match(mega);
  peer.window = 64;
  peer.stride = 24;
  for (const ModelOptions& options : {ModelOptions{mega}, ModelOptions{peer}}) {
    const auto model = baselines::make_token_model(options);
    for (const int64_t segments : {1, 3}) {
      TextReading reading;
      reading.segments = segments;
      reading.positions = 200;  // several times, and several windows side by side
      std::vector<double> log_probabilities(kTokens, 1.0);
      int64_t next = 0;
      bool in_order = true;
      reading.scored = [&](int64_t begin, std::span<const float> some) {
        ASSERT_LE(begin + std::ssize(some), kTokens);
        in_order = in_order && begin == next;
        next = begin + std::ssize(some);
        for (size_t i = 0; i < some.size(); ++i)
          log_probabilities[static_cast<size_t>(begin) + i] = static_cast<double>(some[i]);
      };
      const TextEvaluation evaluation = evaluate_text(*model, options.kind().reading(), text_, reading);
      double sum = 0.0;
      for (const double one : log_probabilities) {
        EXPECT_LE(one, 0.0);
        sum += one;
      }
      EXPECT_NEAR(-sum / kTokens, evaluation.score.nats_per_token.value, 1e-5);
      EXPECT_TRUE(in_order || segments > 1);
      // The first token of the last segment, or in the last window: where it is said to be.
      const bool window = std::holds_alternative<TransformerLanguageOptions>(options.model);
      const int64_t place = window ? 64 : segments == 1 ? 0 : 668, begin = window ? 24 : place;
      const int32_t before = window ? tokens_[23] : static_cast<int32_t>(kEnd);
      EXPECT_NEAR(-log_probabilities[static_cast<size_t>(place)],
                  nats(*model, tokens_, begin, place + 1, before, place), 1e-4);
    }
  }
}

TEST_F(TextEvaluationTest, NoTextIsAnError) {
  const ModelOptions options{testing::tiny_byte_model()};
  const auto model = baselines::make_token_model(options);
  EXPECT_PRED2(testing::contains,
               testing::error_of([&] { evaluate_text(*model, options.kind().reading(), {}, {}); }),
               "no text");
}

}  // namespace
}  // namespace mega::train
