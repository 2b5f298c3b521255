#include "mega/models/token_predictor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mega/baselines/language_transformer.h"
#include "mega/models/language_model.h"
#include "tests/base/helpers.h"
#include "tests/models/helpers.h"

namespace mega::models {
namespace {

using testing::contains;
using testing::error_of;
using testing::with_large_weights;
using torch::Tensor;

constexpr double kTolerance = 1e-5;
constexpr int64_t kLength = 53;

LanguageModelOptions tiny(int64_t chunk) {
  LanguageModelOptions options = testing::tiny_language_model(12, chunk);
  options.block.dropout = 0.2;  // must have no effect
  return options;
}

std::shared_ptr<TokenModel> mega_model(int64_t chunk) {
  torch::manual_seed(1);
  return with_large_weights(LanguageModel(tiny(chunk))).ptr();
}

std::shared_ptr<TokenModel> transformer() {
  TransformerLanguageOptions options;
  options.vocabulary = 12;
  options.layers = 2;
  options.width = 12;
  options.hidden = 10;
  options.heads = 3;
  torch::manual_seed(2);
  return with_large_weights(baselines::LanguageTransformer(options)).ptr();
}

std::vector<int32_t> some_tokens(int64_t count) {
  torch::manual_seed(3);
  const Tensor tokens = torch::randint(2, 12, {count}, torch::kInt32);
  return {tokens.data_ptr<int32_t>(), tokens.data_ptr<int32_t>() + count};
}

Tensor as_tensor(std::span<const float> logits) {
  return torch::tensor(std::vector<float>(logits.begin(), logits.end()));
}

// Log-probabilities after each token, computed in one pass.
Tensor parallel(TokenModel& model, std::span<const int32_t> tokens) {
  const torch::NoGradGuard guard;
  const Tensor input = torch::tensor(std::vector<int64_t>(tokens.begin(), tokens.end())).unsqueeze(0);
  return model.log_probabilities(model.features(input)[0]);
}

double largest_difference(const Tensor& one, const Tensor& other) {
  return (one - other).abs().max().item<double>();
}

TEST(TokenPredictor, AnySplitEqualsTheParallelPass) {
  const std::vector<int32_t> tokens = some_tokens(kLength);
  for (const auto& model : {mega_model(8), mega_model(-1), transformer()}) {
    const Tensor expected = parallel(*model, tokens);
    for (const size_t piece : {1, 2, 7, 8, 9, 52, 53}) {
      TokenPredictor predictor(model);
      for (std::span<const int32_t> rest = tokens; !rest.empty();) {
        const size_t count = std::min(piece, rest.size());
        predictor.feed(rest.first(count));
        rest = rest.subspan(count);
        const int64_t read = predictor.position();
        ASSERT_EQ(read, kLength - std::ssize(rest));
        EXPECT_LT(largest_difference(as_tensor(predictor.logits()), expected[read - 1]), kTolerance)
            << "in pieces of " << piece << ", after " << read;
      }
    }
  }
}

TEST(TokenPredictor, ALongFeedIsReadInPieces) {
  const std::vector<int32_t> tokens = some_tokens(5000);
  const auto model = mega_model(8);
  TokenPredictor predictor(model);
  predictor.feed(tokens);
  EXPECT_EQ(predictor.position(), 5000);
  EXPECT_LT(largest_difference(as_tensor(predictor.logits()), parallel(*model, tokens)[4999]), kTolerance);
}

TEST(TokenPredictor, AWindowSlides) {
  const std::vector<int32_t> tokens = some_tokens(kLength);
  const auto model = transformer();
  // Windows start at 0, 4, 8, ...; the first covers the first 10 tokens, each later one 4 more.
  const auto window_of = [&](int64_t last) {
    const int64_t begin = last < 10 ? 0 : ((last - 10) / 4 + 1) * 4;
    return std::span(tokens).subspan(begin, last + 1 - begin);
  };
  for (const size_t piece : {1, 3, 53}) {
    TokenPredictor predictor(model, {.window = 10, .stride = 4});
    for (std::span<const int32_t> rest = tokens; !rest.empty();) {
      const size_t count = std::min(piece, rest.size());
      predictor.feed(rest.first(count));
      rest = rest.subspan(count);
      const int64_t last = predictor.position() - 1;
      const auto window = window_of(last);
      EXPECT_LT(
          largest_difference(as_tensor(predictor.logits()), parallel(*model, window)[std::ssize(window) - 1]),
          kTolerance)
          << "in pieces of " << piece << ", after " << last;
    }
  }
  // Windows without overlap.
  TokenPredictor apart(model, {.window = 10, .stride = 10});
  apart.feed(std::span(tokens).first(13));
  EXPECT_LT(
      largest_difference(as_tensor(apart.logits()), parallel(*model, std::span(tokens).subspan(10, 3))[2]),
      kTolerance);
}

TEST(TokenPredictor, LogitsAreLogProbabilitiesAndValidUntilTheNextFeed) {
  TokenPredictor predictor(mega_model(8));
  predictor.feed(some_tokens(5));
  const std::span<const float> logits = predictor.logits();
  EXPECT_EQ(logits.size(), 12u);
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  EXPECT_NEAR(sum, 1.0, kTolerance);
  EXPECT_EQ(predictor.logits().data(), logits.data());
  const Tensor before = as_tensor(logits);
  predictor.feed({});
  EXPECT_TRUE(as_tensor(predictor.logits()).equal(before));
  predictor.feed(some_tokens(1));
  EXPECT_FALSE(as_tensor(predictor.logits()).equal(before));
}

TEST(TokenPredictor, RejectsInvalidTokensAndContinues) {
  TokenPredictor predictor(mega_model(8)), other(mega_model(8));
  EXPECT_PRED2(contains, error_of([&] { predictor.logits(); }), "has read nothing");
  predictor.feed(some_tokens(5));
  other.feed(some_tokens(5));
  for (const int32_t token : {-1, 12, 1 << 30})
    EXPECT_PRED2(contains, error_of([&] { predictor.feed({&token, 1}); }), "outside 0 to 11");
  EXPECT_EQ(predictor.position(), 5);
  predictor.feed(some_tokens(1));
  other.feed(some_tokens(1));
  EXPECT_TRUE(as_tensor(predictor.logits()).equal(as_tensor(other.logits())));

  for (const int64_t stride : {-1, 0, 11})
    EXPECT_PRED2(contains, error_of([&] { TokenPredictor(transformer(), {.window = 10, .stride = stride}); }),
                 "cannot advance by");
}

}  // namespace
}  // namespace mega::models
