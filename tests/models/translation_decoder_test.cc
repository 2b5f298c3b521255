// Steps of many hypotheses against the parallel pass over each of them.
#include "mega/models/translation_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/base/helpers.h"
#include "tests/models/translation_helpers.h"

namespace mega::models {
namespace {

using testing::contains;
using testing::error_of;
using testing::make_translation;
using testing::some_translators;
using testing::tiny_transformer;
using testing::tiny_translator;
using torch::Tensor;

constexpr double kTolerance = 2e-5;

using Text = std::vector<Token>;

std::vector<Text> some_sources() { return {{4, 5, 6, 7, 2}, {8, 2}, {11, 10, 9, 8, 7, 6, 5, 4, 2}}; }

Tensor as_row(const Text& text) {
  return torch::tensor(std::vector<int64_t>(text.begin(), text.end())).unsqueeze(0);
}

// Log-probabilities of what follows the target, computed from scratch: (vocabulary).
Tensor recomputed(TranslationModel& model, const Text& source, const Text& target) {
  const torch::NoGradGuard guard;
  const Tensor features = model.features(as_row(target), {}, model.encode(as_row(source)));
  return model.log_probabilities(features[0])[static_cast<int64_t>(target.size()) - 1];
}

void expect_row(const Tensor& expected, std::span<const float> all, int64_t row, const std::string& what) {
  const int64_t types = expected.size(0);
  const Tensor actual = torch::from_blob(const_cast<float*>(all.data()) + row * types, {types});
  EXPECT_LT((actual - expected).abs().max().item<double>(), kTolerance) << what;
}

// Hypotheses fork, change places, and end at random, also all of a source.
TEST(TranslationDecoder, AnySearchEqualsRecomputing) {
  const std::vector<Text> sources = some_sources();
  for (const auto& [name, options] : some_translators()) {
    const auto model = make_translation(options);
    TranslationDecoder decoder(model);
    for (const uint32_t seed : {1, 2, 3}) {
      std::mt19937 random(seed);
      decoder.begin(sources);
      std::vector<Text> targets;
      std::vector<int64_t> owners;
      for (int t = 0; t < 12; ++t) {
        const size_t choices = t == 0 ? sources.size() : targets.size();
        std::vector<int64_t> parents;
        Text tokens;
        for (size_t r = 1 + random() % 7; r > 0; --r) {
          parents.push_back(static_cast<int64_t>(random() % choices));
          tokens.push_back(t == 0 ? kEnd : static_cast<Token>(4 + random() % 8));
        }
        std::vector<Text> next;
        std::vector<int64_t> next_owners;
        for (size_t r = 0; r < parents.size(); ++r) {
          const auto parent = static_cast<size_t>(parents[r]);
          next.push_back(t == 0 ? Text() : targets[parent]);
          next.back().push_back(tokens[r]);
          next_owners.push_back(t == 0 ? parents[r] : owners[parent]);
        }
        targets = next;
        owners = next_owners;
        const std::span<const float> all = decoder.step(parents, tokens);
        ASSERT_EQ(all.size(), parents.size() * 12);
        for (size_t r = 0; r < targets.size(); ++r)
          expect_row(recomputed(*model, sources[static_cast<size_t>(owners[r])], targets[r]), all,
                     static_cast<int64_t>(r), name + ", step " + std::to_string(t));
      }
    }
  }
}

TEST(TranslationDecoder, GreedyEqualsRecomputedGreedy) {
  const std::vector<Text> sources = some_sources();
  const auto best = [](const float* scores) {
    return static_cast<Token>(std::max_element(scores, scores + 12) - scores);
  };
  for (const auto& [name, options] : some_translators()) {
    const auto model = make_translation(options);
    std::vector<Text> expected;
    for (const Text& source : sources) {
      Text target = {kEnd};
      for (int t = 0; t < 20; ++t) {
        const Tensor scores = recomputed(*model, source, target).contiguous();
        target.push_back(best(scores.data_ptr<float>()));
      }
      expected.push_back(target);
    }
    TranslationDecoder decoder(model);
    decoder.begin(sources);
    std::vector<Text> targets(sources.size(), Text{kEnd});
    const std::vector<int64_t> parents = {0, 1, 2};
    for (int t = 0; t < 20; ++t) {
      Text last;
      for (const Text& target : targets) last.push_back(target.back());
      const std::span<const float> all = decoder.step(parents, last);
      for (size_t r = 0; r < targets.size(); ++r) targets[r].push_back(best(all.data() + r * 12));
    }
    EXPECT_EQ(targets, expected) << name;
  }
}

TEST(TranslationDecoder, BeginDropsWhatWasReadBefore) {
  const auto model = make_translation({tiny_translator(5)});
  TranslationDecoder decoder(model), fresh(model);
  const std::vector<Text> sources = some_sources();
  decoder.begin(std::span(sources).first(1));
  decoder.step(std::vector<int64_t>{0, 0, 0}, Text{kEnd, kEnd, kEnd});
  decoder.step(std::vector<int64_t>{2, 1}, Text{4, 5});
  for (TranslationDecoder* each : {&decoder, &fresh}) each->begin(std::span(sources).subspan(2));
  const Text start = {kEnd};
  const std::vector<int64_t> parents = {0};
  const auto a = decoder.step(parents, start), b = fresh.step(parents, start);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TEST(TranslationDecoder, KnowsItsLimits) {
  TranslationDecoder mega(make_translation({tiny_translator()})),
      transformer(make_translation({tiny_transformer()}));
  EXPECT_EQ(mega.max_positions(), 40);
  EXPECT_EQ(transformer.max_positions(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(mega.vocabulary(), 12);
  EXPECT_TRUE(mega.alignment(0).empty());
}

TEST(TranslationDecoder, RejectsInvalidStepsAndContinues) {
  TranslationDecoder decoder(make_translation({tiny_translator()}));
  const auto step = [&](std::vector<int64_t> parents, Text tokens) {
    return error_of([&] { decoder.step(parents, tokens); });
  };
  EXPECT_PRED2(contains, step({0}, {kEnd}), "number 0 of 0");
  EXPECT_PRED2(contains, error_of([&] { decoder.begin(std::vector<Text>{{}}); }), "at least its </s>");
  EXPECT_NO_THROW(decoder.begin({}));
  EXPECT_TRUE(decoder.step({}, {}).empty());
  const std::vector<Text> sources = some_sources();
  decoder.begin(sources);
  EXPECT_PRED2(contains, step({3}, {kEnd}), "number 3 of 3");
  EXPECT_PRED2(contains, step({-1}, {kEnd}), "number -1 of 3");
  EXPECT_PRED2(contains, step({0, 1}, {kEnd}), "1 tokens for 2");
  EXPECT_PRED2(contains, step({0}, {12}), "outside 0 to 11");
  EXPECT_NO_THROW(decoder.step(std::vector<int64_t>{1, 2}, Text{kEnd, kEnd}));
  EXPECT_PRED2(contains, step({2}, {4}), "number 2 of 2");
  EXPECT_NO_THROW(decoder.step(std::vector<int64_t>{1}, Text{4})) << "nothing was lost";
}

}  // namespace
}  // namespace mega::models
