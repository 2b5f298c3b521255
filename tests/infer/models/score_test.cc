#include "mega/infer/models/score.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/base/helpers.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;

constexpr size_t kBlock = TextScore::kBlock;

std::vector<float> tokens(size_t count, double probability) {
  return std::vector<float>(count, static_cast<float>(std::log(probability)));
}

TEST(TextScore, MetricsByHand) {
  // Four tokens of 1, 2, 3 and 2 bits: 8 bits, for 6 characters of 8 bytes.
  TextScore score;
  score.add(std::vector<float>{std::log(0.5F), std::log(0.25F)}, {3, 5, 1});
  score.add(std::vector<float>{std::log(0.125F), std::log(0.25F)}, {3, 3, 0});
  const ScoreResult result = score.result();
  EXPECT_EQ(result.tokens, 4);
  EXPECT_EQ(result.counts.characters, 6);
  EXPECT_EQ(result.counts.bytes, 8);
  EXPECT_EQ(result.counts.unknown, 1);
  EXPECT_NEAR(result.nats_per_token.value, 2 * std::log(2.0), 1e-6);
  EXPECT_NEAR(result.perplexity.value, 4.0, 1e-6);
  EXPECT_NEAR(result.bits_per_character.value, 8.0 / 6, 1e-6);
  EXPECT_NEAR(result.bits_per_byte.value, 1.0, 1e-6);
  EXPECT_FALSE(result.perplexity.uncertainty.has_value());
  EXPECT_FALSE(result.bits_per_byte.uncertainty.has_value());
}

TEST(TextScore, UncertaintyFromBlocks) {
  // Blocks of 1, 2 and 3 bits per token: mean 2, standard error sqrt(1/3), Student's t 4.303.
  TextScore score;
  for (const double p : {0.5, 0.25, 0.125}) score.add(tokens(kBlock, p), {2 * kBlock, 4 * kBlock, 0});
  const ScoreResult result = score.result();
  const double bits = 4.303 * std::sqrt(1.0 / 3);
  EXPECT_NEAR(result.nats_per_token.uncertainty.value(), bits * std::log(2.0), 1e-6);
  EXPECT_NEAR(result.perplexity.uncertainty.value(), bits * std::log(2.0) * 4, 1e-5);
  EXPECT_NEAR(result.bits_per_character.value, 1.0, 1e-6);
  EXPECT_NEAR(result.bits_per_character.uncertainty.value(), bits / 2, 1e-6);
  EXPECT_NEAR(result.bits_per_byte.uncertainty.value(), bits / 4, 1e-6);
}

TEST(TextScore, ManyBlocksApproachTheNormalDistribution) {
  TextScore score;
  for (int i = 0; i < 200; ++i) score.add(tokens(kBlock, i % 2 == 0 ? 0.5 : 0.25), {1, 1, 0});
  // 1 and 2 bits: a variance of 0.25 * 200 / 199; t with 199 degrees of freedom is 1.97196.
  EXPECT_NEAR(score.result().nats_per_token.uncertainty.value(),
              1.97196 * std::sqrt(0.25 / 199) * std::log(2.0), 1e-6);
}

TEST(TextScore, UncertaintyNeedsTwoFullBlocks) {
  TextScore score;
  score.add(tokens(2 * kBlock - 1, 0.5), {1, 1, 0});
  EXPECT_FALSE(score.result().perplexity.uncertainty.has_value());
  score.add(tokens(1, 0.5), {1, 1, 0});
  EXPECT_NEAR(score.result().perplexity.uncertainty.value(), 0.0, 1e-9);
}

TEST(TextScore, DoesNotDependOnTheSplit) {
  std::vector<float> all;
  for (int i = 0; i < 5000; ++i) all.push_back(-static_cast<float>(i * 37 % 101) / 50.0F);
  TextScore whole;
  whole.add(all, {5000, 6000, 7});
  TextScore cut;
  for (size_t begin = 0, length = 0; begin < all.size(); begin += length++)
    cut.add(std::span(all).subspan(begin, std::min(length, all.size() - begin)), {});
  cut.add({}, {5000, 6000, 7});
  EXPECT_EQ(whole.result().perplexity.value, cut.result().perplexity.value);
  EXPECT_EQ(whole.result().perplexity.uncertainty.value(), cut.result().perplexity.uncertainty.value());
}

TEST(TextScore, MergedPartsEqualTheWhole) {
  TextScore whole;
  TextScore first;
  TextScore second;
  int64_t i = 0;
  for (const double p : {0.5, 0.25, 0.125, 0.3, 0.9}) {
    TextScore& part = i++ < 2 ? first : second;
    part.add(tokens(kBlock, p), {600, 700, 2});
    whole.add(tokens(kBlock, p), {600, 700, 2});
  }
  TextScore merged;
  merged.merge(first);
  merged.merge(second);
  merged.merge(TextScore());
  const ScoreResult expected = whole.result();
  const ScoreResult result = merged.result();
  EXPECT_EQ(result.tokens, expected.tokens);
  EXPECT_EQ(result.counts.characters, 3000);
  EXPECT_EQ(result.counts.bytes, 3500);
  EXPECT_EQ(result.counts.unknown, 10);
  EXPECT_NEAR(result.perplexity.value, expected.perplexity.value, 1e-9);
  EXPECT_NEAR(result.perplexity.uncertainty.value(), expected.perplexity.uncertainty.value(), 1e-9);
}

TEST(TextScore, ShortTextsShareBlocks) {
  TextScore all;
  for (const double p : {0.5, 0.25, 0.5, 0.25}) {
    TextScore text;
    text.add(tokens(300, p), {300, 300, 0});
    all.merge(text);
  }
  // Two blocks of 600 tokens with the same mean.
  EXPECT_NEAR(all.result().nats_per_token.uncertainty.value(), 0.0, 1e-9);
  EXPECT_NEAR(all.result().nats_per_token.value, 1.5 * std::log(2.0), 1e-6);
}

TEST(TextScore, ImpossibleTokenMakesPerplexityInfinite) {
  TextScore score;
  score.add(tokens(3 * kBlock, 0.5), {1, 1, 0});
  score.add(tokens(1, 0.0), {1, 1, 0});
  score.add(tokens(kBlock, 0.5), {1, 1, 0});
  const ScoreResult result = score.result();
  EXPECT_TRUE(std::isinf(result.perplexity.value));
  EXPECT_TRUE(std::isinf(result.bits_per_byte.value));
  EXPECT_FALSE(result.perplexity.uncertainty.has_value());
}

TEST(TextScore, InvalidLogProbabilitiesAreErrorsAndChangeNothing) {
  TextScore score;
  score.add(tokens(1, 0.5), {1, 1, 0});
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 0.5F})
    EXPECT_PRED2(contains, error_of([&] {
                   score.add(std::vector<float>{-1.0F, bad}, {1, 1, 0});
                 }),
                 "expected a number <= 0");
  EXPECT_EQ(score.result().tokens, 1);
  EXPECT_NEAR(score.result().perplexity.value, 2.0, 1e-6);
}

TEST(TextScore, EmptyTextHasNoScore) {
  EXPECT_PRED2(contains, error_of([] { TextScore().result(); }), "nothing to score");
  TextScore without_text;
  without_text.add(tokens(1, 0.5), {});
  EXPECT_PRED2(contains, error_of([&] { without_text.result(); }), "nothing to score");
}

}  // namespace
}  // namespace mega::infer
