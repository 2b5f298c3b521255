// Forced decoding and ensembles, over a small table of distributions.
#include "mega/infer/translation/score_pairs.h"

#include <gtest/gtest.h>

#include <limits>

#include "mega/base/error.h"
#include "mega/infer/translation/beam_search.h"
#include "mega/infer/translation/ensemble.h"
#include "tests/infer/translation/table_decoder.h"

namespace mega::infer {
namespace {

using mega::testing::TableDecoder;
using Tokens = std::vector<Token>;

TEST(ScorePairs, AreTheModelsProbabilities) {
  TableDecoder decoder = TableDecoder::random(9, 1);
  const std::vector<Tokens> sources = {{4, kEnd}, {5, 6, kEnd}, {kEnd}},
                            targets = {{7, 8, 4, kEnd}, {kEnd}, {kUnknown, kEnd}};
  const auto scores = score_pairs(decoder, sources, targets);
  ASSERT_EQ(scores.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(scores[i].size(), targets[i].size());
    Tokens before;
    for (size_t t = 0; t < targets[i].size(); ++t) {
      EXPECT_EQ(scores[i][t],
                decoder.log_probabilities(sources[i], before)[static_cast<size_t>(targets[i][t])]);
      before.push_back(targets[i][t]);
    }
  }
  EXPECT_EQ(decoder.rows, 4 + 1 + 2);  // a target that is over costs nothing
  EXPECT_TRUE(score_pairs(decoder, {}, {}).empty());
}

TEST(ScorePairs, AreThoseOfTheSearch) {
  TableDecoder decoder = TableDecoder::random(9, 2);
  const SearchSentence one{{4, 5, kEnd}, {}, 0};
  for (const Hypothesis& each : NBest(beam_search(decoder, {&one, 1}, SearchOptions())[0]))
    EXPECT_EQ(score_pairs(decoder, {{one.source}}, {{each.tokens}})[0], each.log_probabilities);
}

TEST(ScorePairs, RejectBadPairs) {
  TableDecoder decoder = TableDecoder::random(9, 1);
  const auto throws = [&](std::vector<Tokens> sources, std::vector<Tokens> targets) {
    EXPECT_THROW(score_pairs(decoder, sources, targets), Error);
  };
  throws({{4, kEnd}}, {});
  throws({{4, kEnd}}, {{}});
  throws({{4, kEnd}}, {{4}});
  throws({{4}}, {{kEnd}});
  throws({{4, kEnd}}, {{9, kEnd}});
  throws({{4, kEnd}}, {{-1, kEnd}});
  decoder.positions = 2;
  throws({{4, kEnd}}, {{4, 4, kEnd}});
  TableDecoder broken(5, [](const Tokens&, const Tokens&) {
    return std::vector<float>(5, std::numeric_limits<float>::quiet_NaN());
  });
  EXPECT_THROW(score_pairs(broken, {{Tokens{kEnd}}}, {{Tokens{kEnd}}}), Error);
}

TEST(Ensemble, IsTheMeanOfProbabilities) {
  const auto first = std::make_shared<TableDecoder>(TableDecoder::random(9, 1));
  const auto second = std::make_shared<TableDecoder>(TableDecoder::random(9, 2));
  Ensemble both({first, second});
  const std::vector<Tokens> sources = {{4, 5, kEnd}}, targets = {{7, 8, kEnd}};
  const auto one = score_pairs(*first, sources, targets)[0], two = score_pairs(*second, sources, targets)[0];
  const auto mean = score_pairs(both, sources, targets)[0];
  for (size_t i = 0; i < mean.size(); ++i)
    EXPECT_NEAR(std::exp(mean[i]), (std::exp(one[i]) + std::exp(two[i])) / 2, 1e-6);
  EXPECT_EQ(both.alignment(0).size(), 3u);
  EXPECT_EQ(both.alignment(0)[2], 1.0f);
}

TEST(Ensemble, OfEqualModelsIsTheModel) {
  const auto model = [] { return std::make_shared<TableDecoder>(TableDecoder::random(9, 1)); };
  Ensemble three({model(), model(), model()});
  const SearchSentence one{{4, 5, kEnd}, {}, 0};
  SearchOptions options;
  options.nbest = 5;
  const NBest alone = beam_search(*model(), {&one, 1}, options)[0],
              together = beam_search(three, {&one, 1}, options)[0];
  ASSERT_EQ(alone.size(), together.size());
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].tokens, together[i].tokens);
    EXPECT_NEAR(alone[i].score, together[i].score, 1e-5);
  }
}

TEST(Ensemble, RestrictsAllOrNone) {
  const auto can = std::make_shared<TableDecoder>(TableDecoder::random(9, 1)),
             cannot = std::make_shared<TableDecoder>(TableDecoder::random(9, 2));
  cannot->can_restrict = false;
  const Shortlist shortlist(std::vector<Tokens>(9, Tokens{7, 8}), {});
  const SearchSentence one{{4, 5, kEnd}, {}, 0};
  Ensemble mixed({can, cannot}), able({can, can});
  EXPECT_FALSE(beam_search(mixed, {&one, 1}, SearchOptions(), {0, &shortlist})[0].empty());
  Ensemble single({can});
  EXPECT_FALSE(beam_search(single, {&one, 1}, SearchOptions(), {0, &shortlist})[0].empty());
}

TEST(Ensemble, RejectsModelsThatDoNotFit) {
  EXPECT_THROW(Ensemble({}), Error);
  EXPECT_THROW(Ensemble({std::make_shared<TableDecoder>(TableDecoder::random(9, 1)),
                         std::make_shared<TableDecoder>(TableDecoder::random(8, 1))}),
               Error);
}

}  // namespace
}  // namespace mega::infer
