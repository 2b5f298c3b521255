#include "mega/text/metrics/bootstrap.h"

#include <gtest/gtest.h>

#include "mega/base/random.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using Lines = std::vector<std::string>;

// Sentences of ten words of which a share is right.
std::vector<Statistics> system_of(const Metric& metric, double share, uint64_t seed) {
  Random random(seed);
  Lines hypotheses, reference;
  for (int i = 0; i < 100; ++i) {
    std::string right, guess;
    for (int w = 0; w < 10; ++w) {
      const std::string word = "w" + std::to_string(random.below(50));
      right += word + " ";
      guess += (random.unit() < share ? word : "wrong") + " ";
    }
    hypotheses.push_back(guess);
    reference.push_back(right);
  }
  return corpus_statistics(metric, hypotheses, std::vector<Lines>{reference});
}

TEST(PairedBootstrap, TellsSystemsApart) {
  for (const MetricKind kind : {MetricKind::bleu, MetricKind::chrf, MetricKind::ter}) {
    const auto metric = make_metric(kind, {});
    const std::vector<std::vector<Statistics>> systems = {
        system_of(*metric, 0.8, 1), system_of(*metric, 0.4, 2), system_of(*metric, 0.8, 1)};
    const auto results = paired_bootstrap(*metric, systems, {});
    ASSERT_EQ(results.size(), 3u);
    EXPECT_FALSE(results[0].p_value);
    EXPECT_EQ(*results[1].p_value, 1.0 / 1001) << "no sample of a thousand";
    EXPECT_EQ(*results[2].p_value, 1.0 / 1001) << "the same system: no difference exceeds none";
    EXPECT_EQ(results[0].score, metric->score(sum_of(systems[0])));
    EXPECT_NEAR(results[0].mean, results[0].score, 1) << "in the middle of its samples";
    EXPECT_GT(results[0].ci95, 0.5);
    EXPECT_LT(results[0].ci95, 10);
    EXPECT_EQ(results[0].mean, results[2].mean) << "all systems are scored on the same samples";
  }
}

TEST(PairedBootstrap, SameSeedSameResult) {
  const auto metric = make_metric(MetricKind::bleu, {});
  const std::vector<std::vector<Statistics>> systems = {system_of(*metric, 0.8, 1),
                                                        system_of(*metric, 0.79, 2)};
  const BootstrapOptions options{.samples = 100, .seed = 3};
  const auto first = paired_bootstrap(*metric, systems, options);
  const auto again = paired_bootstrap(*metric, systems, options);
  EXPECT_EQ(first[1].mean, again[1].mean);
  EXPECT_EQ(first[1].p_value, again[1].p_value);
  EXPECT_NE(first[1].mean, paired_bootstrap(*metric, systems, {.samples = 100, .seed = 4})[1].mean);
}

TEST(PairedBootstrap, Errors) {
  const auto metric = make_metric(MetricKind::ter, {});
  const auto run = [&](std::vector<std::vector<Statistics>> systems, BootstrapOptions options = {}) {
    return error_of([&] { paired_bootstrap(*metric, systems, options); });
  };
  EXPECT_TRUE(contains(run({}), "nothing to resample"));
  EXPECT_TRUE(contains(run({{}}), "nothing to resample"));
  EXPECT_TRUE(contains(run({{{1, 2}}, {{1, 2}, {1, 2}}}), "1 and 2 sentences"));
  EXPECT_TRUE(contains(run({{{1, 2}}}, {.samples = 0}), "samples"));
}

}  // namespace
}  // namespace mega
