#include "mega/infer/generation/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "mega/text/tokens.h"
#include "tests/base/helpers.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Logits of tokens 4, 5, ... with these probabilities; the specials are impossible.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits(kFirstSymbol, -kInfinity);
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

std::map<int32_t, int> count_draws(const SamplerOptions& options, const std::vector<float>& logits, int draws,
                                   const std::vector<int32_t>& history = {}) {
  Sampler sampler(options);
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[sampler.draw(logits, history)];
  return counts;
}

std::set<int32_t> drawn(const SamplerOptions& options, const std::vector<float>& logits,
                        const std::vector<int32_t>& history = {}) {
  std::set<int32_t> tokens;
  for (const auto& [token, count] : count_draws(options, logits, 4000, history)) tokens.insert(token);
  return tokens;
}

// Four standard deviations; deterministic, because the seed is fixed.
void expect_frequencies(const std::map<int32_t, int>& counts, const std::vector<double>& probabilities,
                        int draws) {
  int all = 0;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const double p = probabilities[i];
    const auto found = counts.find(kFirstSymbol + static_cast<int32_t>(i));
    const int count = found == counts.end() ? 0 : found->second;
    EXPECT_NEAR(count, draws * p, 4 * std::sqrt(draws * p * (1 - p))) << "token " << i + kFirstSymbol;
    all += count;
  }
  EXPECT_EQ(all, draws);
}

const std::vector<double> kFive = {0.1, 0.4, 0.05, 0.3, 0.15};
constexpr int kDraws = 40'000;

TEST(Sampler, SamplesFromTheModelsDistribution) {
  expect_frequencies(count_draws({}, logits_of(kFive), kDraws), kFive, kDraws);
}

TEST(Sampler, TemperatureRaisesProbabilitiesToAPower) {
  for (const double temperature : {0.5, 3.0}) {
    std::vector<double> expected;
    double total = 0;
    for (const double p : kFive) total += expected.emplace_back(std::pow(p, 1 / temperature));
    for (double& p : expected) p /= total;
    SamplerOptions options;
    options.temperature = temperature;
    expect_frequencies(count_draws(options, logits_of(kFive), kDraws), expected, kDraws);
  }
}

TEST(Sampler, RemainingTokensKeepTheirProportions) {
  SamplerOptions options;
  options.top_k = 2;
  expect_frequencies(count_draws(options, logits_of(kFive), kDraws), {0, 4.0 / 7, 0, 3.0 / 7, 0}, kDraws);
}

TEST(Sampler, TopKKeepsTheBest) {
  SamplerOptions options;
  options.top_k = 1;
  EXPECT_EQ(drawn(options, logits_of(kFive)), (std::set<int32_t>{5}));
  options.top_k = 3;
  EXPECT_EQ(drawn(options, logits_of(kFive)), (std::set<int32_t>{5, 7, 8}));
  options.top_k = 1000;
  EXPECT_EQ(drawn(options, logits_of(kFive)).size(), 5u);
  // Ties go to the smaller numbers.
  options.top_k = 2;
  EXPECT_EQ(drawn(options, logits_of({0.25, 0.25, 0.25, 0.25})), (std::set<int32_t>{4, 5}));
}

TEST(Sampler, TopKOfManyTokens) {
  std::vector<float> logits;
  for (int i = 0; i < 20'000; ++i) logits.push_back(static_cast<float>(i) * 1e-6F);
  SamplerOptions options;
  options.top_k = 5000;
  const std::map<int32_t, int> counts = count_draws(options, logits, 500);
  EXPECT_GE(counts.begin()->first, 15'000);
  EXPECT_LT(counts.begin()->first, 15'100);
  EXPECT_GT(counts.rbegin()->first, 19'900);
}

TEST(Sampler, TopPKeepsTheFewestTokensNeeded) {
  SamplerOptions options;
  const auto kept = [&](double top_p) {
    options.top_p = top_p;
    return drawn(options, logits_of(kFive));
  };
  EXPECT_EQ(kept(0.0), (std::set<int32_t>{5}));
  EXPECT_EQ(kept(0.39), (std::set<int32_t>{5}));
  EXPECT_EQ(kept(0.41), (std::set<int32_t>{5, 7}));
  EXPECT_EQ(kept(0.84), (std::set<int32_t>{5, 7, 8}));
  EXPECT_EQ(kept(0.94), (std::set<int32_t>{4, 5, 7, 8}));
  EXPECT_EQ(kept(0.96).size(), 5u);
  // After top_k: 4/7 and 3/7.
  options.top_k = 2;
  EXPECT_EQ(kept(0.55), (std::set<int32_t>{5}));
  EXPECT_EQ(kept(0.6), (std::set<int32_t>{5, 7}));
}

TEST(Sampler, TopPOfManyTokens) {
  // 1000 equal tokens: sorting takes several rounds. The 300 smallest numbers are kept.
  const std::vector<float> logits = logits_of(std::vector<double>(1000, 0.001));
  SamplerOptions options;
  options.top_p = 0.2999;
  Sampler sampler(options);
  std::set<int32_t> tokens;
  for (int i = 0; i < 10'000; ++i) tokens.insert(sampler.draw(logits, {}));
  EXPECT_EQ(tokens.size(), 300u);
  EXPECT_EQ(*tokens.rbegin(), kFirstSymbol + 299);
}

TEST(Sampler, MinPIsRelativeToTheBest) {
  SamplerOptions options;
  options.min_p = 0.3;  // of 0.4: 0.12
  EXPECT_EQ(drawn(options, logits_of(kFive)), (std::set<int32_t>{5, 7, 8}));
  options.min_p = 1.0;
  EXPECT_EQ(drawn(options, logits_of(kFive)), (std::set<int32_t>{5}));
}

TEST(Sampler, GreedyTakesTheFirstOfTheBest) {
  SamplerOptions options;
  options.temperature = 0;
  EXPECT_EQ(drawn(options, logits_of(kFive)), (std::set<int32_t>{5}));
  EXPECT_EQ(drawn(options, logits_of({0.2, 0.4, 0.4})), (std::set<int32_t>{5}));
  // A tiny temperature does not overflow.
  options.temperature = 1e-300;
  EXPECT_EQ(drawn(options, logits_of(kFive)), (std::set<int32_t>{5}));
}

TEST(Sampler, PenaltyDividesPositiveAndMultipliesNegativeLogitsOnce) {
  SamplerOptions options;
  options.temperature = 0;
  options.repetition_penalty = 2;
  std::vector<float> logits(kFirstSymbol, -kInfinity);
  logits.insert(logits.end(), {3.0F, 2.0F, 1.0F});
  const auto best = [&](const std::vector<int32_t>& history) {
    return Sampler(options).draw(logits, history);
  };
  EXPECT_EQ(best({}), 4);
  EXPECT_EQ(best({4}), 5);        // 1.5, 2, 1
  EXPECT_EQ(best({4, 5}), 4);     // 1.5, 1, 1
  EXPECT_EQ(best({4, 4, 5}), 4);  // not 0.75: repeated tokens are penalised once
  logits.assign({-kInfinity, -kInfinity, -kInfinity, -kInfinity, -1.0F, -1.5F, -kInfinity});
  EXPECT_EQ(best({}), 4);
  EXPECT_EQ(best({4, 6}), 5);  // -2, -1.5; impossible tokens stay impossible
}

TEST(Sampler, PenaltyIsLimitedToTheWindow) {
  SamplerOptions options;
  options.temperature = 0;
  options.repetition_penalty = 10;
  options.repetition_window = 3;
  const std::vector<float> logits = logits_of({0.6, 0.3, 0.1});
  EXPECT_EQ(Sampler(options).draw(logits, std::vector<int32_t>{4, 6, 6}), 5);
  EXPECT_EQ(Sampler(options).draw(logits, std::vector<int32_t>{4, 6, 6, 6}), 4);
  options.repetition_window = 0;
  EXPECT_EQ(Sampler(options).draw(logits, std::vector<int32_t>{4}), 4);
}

TEST(Sampler, NeverSamplesSpecialTokens) {
  const std::vector<float> logits = {50, 60, 0, 70, 0};
  EXPECT_EQ(drawn({}, logits), (std::set<int32_t>{kEnd, 4}));
  SamplerOptions options;
  options.allow_unknown = true;
  EXPECT_EQ(drawn(options, logits), (std::set<int32_t>{kUnknown}));
}

TEST(Sampler, SameSeedSameTokens) {
  const std::vector<float> logits = logits_of(std::vector<double>(100, 0.01));
  const auto tokens = [&](int64_t seed) {
    SamplerOptions options;
    options.seed = seed;
    Sampler sampler(options);
    std::vector<int32_t> result;
    for (int i = 0; i < 50; ++i) result.push_back(sampler.draw(logits, {}));
    return result;
  };
  EXPECT_EQ(tokens(7), tokens(7));
  EXPECT_NE(tokens(7), tokens(8));
}

TEST(Sampler, ExtremeLogits) {
  EXPECT_EQ(drawn({}, {0, 0, -kInfinity, 0, 3e38F, -3e38F, -kInfinity}), (std::set<int32_t>{4}));
  // -inf after the penalty is impossible, too.
  SamplerOptions options;
  options.repetition_penalty = 100;
  EXPECT_EQ(drawn(options, {0, 0, -kInfinity, 0, -3e38F, -3.1e38F}, {4}), (std::set<int32_t>{5}));
}

TEST(Sampler, InvalidLogitsAreErrors) {
  const auto message = [](const std::vector<float>& logits) {
    return error_of([&] { Sampler({}).draw(logits, {}); });
  };
  EXPECT_PRED2(contains, message({0, 0, 0, 0, 0, kNaN}), "logit of token 5 is nan");
  EXPECT_PRED2(contains, message({0, kNaN, 0, 0, 0}), "logit of token 1 is nan");
  EXPECT_PRED2(contains, message({0, 0, 0, 0, kInfinity}), "logit of token 4 is inf");
  EXPECT_PRED2(contains, message(std::vector<float>(9, -kInfinity)), "none is left to sample");
  EXPECT_PRED2(contains, message({0, 0}), "none is left to sample");
  EXPECT_PRED2(contains, message({}), "none is left to sample");
}

TEST(Sampler, HistoryOutsideTheVocabularyIsAnError) {
  SamplerOptions options;
  options.repetition_penalty = 2;
  for (const int32_t token : {-1, 9, std::numeric_limits<int32_t>::max()}) {
    const auto draw = [&] { Sampler(options).draw(logits_of(kFive), std::vector<int32_t>{token}); };
    EXPECT_PRED2(contains, error_of(draw), "is not one of the model's 9");
  }
}

TEST(Sampler, OptionsHaveRanges) {
  for (const char* assignment : {"temperature=-1", "temperature=nan", "top_p=1.5", "top_k=-1", "min_p=-0.1",
                                 "repetition_penalty=0", "repetition_window=-1", "seed=-1"}) {
    SamplerOptions options;
    error_of([&] { set_option(options, assignment); });
  }
  SamplerOptions options;
  options.top_p = 2;
  EXPECT_PRED2(contains, error_of([&] { Sampler sampler(options); }), "top_p");
}

}  // namespace
}  // namespace mega::infer
