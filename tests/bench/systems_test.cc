// The paper's tables: every row is there and can be measured, at small sizes; fits and rounds.
#include "bench/systems.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "bench/ablation.h"
#include "bench/attention_functions.h"
#include "bench/lm_table.h"
#include "bench/measure.h"
#include "bench/scaling.h"
#include "bench/table2.h"
#include "mega/config/parameter_count.h"
#include "tests/base/helpers.h"

namespace mega::bench {
namespace {

using testing::contains;
using testing::error_of;

TEST(Systems, Table2HasEveryRowOfThePaper) {
  std::set<std::string> with_figures;
  for (const System& system : table2_systems()) {
    Recipe published = load_preset(system.preset);
    for (const std::string& assignment : system.changes) change(published, assignment);
    EXPECT_EQ(count_parameters(recipe_of(system, 4000).model).total, count_parameters(published.model).total)
        << system.name << ": 4,000 bytes need no other model than the published one";
    if (*system.paper_speed != 0) with_figures.insert(system.name);
  }
  EXPECT_EQ(with_figures, (std::set<std::string>{"transformer-plain", "reformer", "linformer", "bigbird",
                                                 "performer", "luna", "s4-v2", "mega", "mega-chunk"}));
}

TEST(Systems, EveryRowOfTable2TakesAStep) {
  for (const System& system : table2_systems()) {
    const Sample sample = run_trial(kStep, system, 100, 1);
    EXPECT_GT(sample.seconds, 0.0) << system.name;
    EXPECT_GE(sample.peak_mb, 0.0) << system.name;
  }
}

TEST(Systems, ATrialSaysEverythingToItsProcess) {
  SystemsSettings settings;
  settings.batch = 3;
  const System system{"mine", "lra-text", {"model.block.chunk=16", "model.layers=1"}, true};
  const Trial trial = trial_of(kStep, system, 50, settings);
  const std::vector<std::string> expected = {"bench",     "table2",
                                             "--trial",   "step",
                                             "--preset",  "lra-text",
                                             "--forms",   "reference",
                                             "--length",  "50",
                                             "--batch",   "3",
                                             "--threads", "0",
                                             "--set",     "model.block.chunk=16",
                                             "--set",     "model.layers=1"};
  EXPECT_EQ(trial.arguments, expected);
}

TEST(Systems, LanguageModelsScoreText) {
  for (System system : lm_systems(true)) {
    // The same kinds, small enough for a test.
    system.changes.insert(system.changes.end(), {"model.vocabulary=300", "model.layers=1"});
    if (!system.name.starts_with("enwik8")) system.changes.emplace_back("model.cutoffs=100,200");
    if (system.name.starts_with("transformer-adaptive"))
      system.changes.insert(system.changes.end(), {"model.window=96", "model.stride=32"});
    EXPECT_GT(run_trial(kScore, system, 64, 1).seconds, 0.0) << system.name;
  }
}

TEST(Systems, OfAnotherTaskAreRefused) {
  EXPECT_PRED2(contains, error_of([] { run_trial(kScore, {"", "lra-text"}, 64, 1); }), "language models");
  EXPECT_PRED2(contains, error_of([] { run_trial(kStep, {"", "bytes-small"}, 64, 1); }), "classifiers");
}

TEST(Systems, ChoosesByName) {
  const auto some = chosen(table2_systems(), {"mega", "s4d"});
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some[1].preset, "lra-text-s4d");
  EXPECT_EQ(chosen(table2_systems(), {}).size(), table2_systems().size());
  EXPECT_PRED2(contains, error_of([] { chosen(table2_systems(), {"s5"}); }), "mega-chunk");
}

TEST(Systems, TablesOfOneLengthRefuseSeveral) {
  SystemsSettings settings;
  EXPECT_EQ(settings.one_length(4000), 4000);
  settings.lengths = {64};
  EXPECT_EQ(settings.one_length(4000), 64);
  settings.lengths = {64, 128};
  EXPECT_PRED2(contains, error_of([&] { run_table2(settings); }), "one length");
}

TEST(Systems, QuickHasFewRoundsAndAnEnd) {
  SystemsSettings settings;
  EXPECT_EQ(settings.plan("x").rounds, 7);
  EXPECT_EQ(settings.plan("x").budget_s, 0.0);
  settings.quick = true;
  EXPECT_EQ(settings.plan("x").rounds, kQuickRounds);
  EXPECT_LT(settings.plan("x").budget_s, 180.0);
  settings.repeats = 1;
  EXPECT_EQ(settings.plan("x").rounds, 1);
}

TEST(Rounds, SummaryIsMedianAndHalfTheRange) {
  EXPECT_FALSE(summarize({}).measured());
  EXPECT_TRUE(std::isnan(summarize({{1.0, 5.0}}).spread)) << "one round has none";
  const Timing timing = summarize({{1.0, 5.0}, {2.0, 7.0}, {4.0, 6.0}, {3.0, 9.0}, {2.5, 8.0}});
  EXPECT_EQ(timing.median_s, 2.5);
  EXPECT_DOUBLE_EQ(timing.spread, 0.5 * (3.0 - 2.0) / 2.5);
  EXPECT_EQ(timing.peak_mb, 7.0);
  EXPECT_EQ(summarize({{1.0, 5.0}, {2.0, 7.0}}).median_s, 1.5) << "of two, neither is the median";
}

// Children are this program.
TEST(Rounds, DISABLED_Fails) { FAIL(); }

TEST(Rounds, AFailureNamesItsCommandAndLeavesOthersWhereItMay) {
  const auto child = [](const std::string& name) {
    return Trial{name, {"--gtest_filter=Rounds.DISABLED_" + name, "--gtest_also_run_disabled_tests"}};
  };
  RoundPlan plan{"test", 1};
  EXPECT_PRED2(contains, error_of([&] { measure_in_rounds({child("Fails")}, plan); }),
               "DISABLED_Fails --gtest_also_run_disabled_tests: failed with status 1");
  EXPECT_PRED2(contains, error_of([&] { child_output({"--gtest_flagfile=/nonexistent"}); }),
               "killed by signal");
  plan.worth = [](size_t, const std::vector<Timing>&) { return true; };
  EXPECT_PRED2(contains, error_of([&] { measure_in_rounds({child("Fails")}, plan); }),
               "nothing could be measured");
}

TEST(Scaling, ExponentsAreThoseOfPowers) {
  std::vector<Point> points;
  for (const double x : {1024.0, 2048.0, 8192.0}) points.push_back({x, 3e-5 * std::pow(x, 1.7)});
  EXPECT_NEAR(fitted_exponent(points), 1.7, 1e-12);
  points[1].y *= 1.2;
  EXPECT_NE(fitted_exponent(points), 1.7);
  points.resize(1);
  EXPECT_TRUE(std::isnan(fitted_exponent(points)));
}

TEST(Scaling, ExpectsGrowthToGoOn) {
  EXPECT_EQ(expected_next({}), 0.0);
  EXPECT_EQ(expected_next(std::vector<double>{3.0}), 3.0);
  EXPECT_EQ(expected_next(std::vector<double>{1.0, 2.0, 8.0}), 32.0);
  EXPECT_EQ(expected_next(std::vector<double>{0.0, 2.0}), 2.0);
}

TEST(Ablation, ValuesAreThePapers) {
  ASSERT_EQ(ablations().size(), 3u);
  EXPECT_EQ(ablations()[0].values, (std::vector<std::string>{"0", "1", "2", "4", "8", "16", "32"}));
  EXPECT_EQ(ablations()[1].values, (std::vector<std::string>{"16", "32", "64", "128", "256", "512", "-1"}));
  for (const Ablation& ablation : ablations())
    for (const std::string& value : ablation.values)
      EXPECT_GT(run_trial(kStep, {"", "lra-text-chunk", {ablation.key + "=" + value}}, 48, 1).seconds, 0.0);
}

TEST(Ablation, AsksForWhatIsMissing) {
  AblationSettings settings;
  settings.only = {"emu"};
  EXPECT_PRED2(contains, error_of([&] { run_ablation(settings); }), "chunk-full");
  settings.only = {"ema-1"};
  settings.data = "somewhere";
  EXPECT_PRED2(contains, error_of([&] { run_ablation(settings); }), "--time");
  for (const char* other : {"lra-text-luna", "bytes-small", "picture-small"}) {
    settings.preset = other;
    EXPECT_PRED2(contains, error_of([&] { run_ablation(settings); }), "Mega's classifiers") << other;
  }
}

// Appendix C: laplace has the value and the slope of relu² where its coefficients come from.
TEST(AttentionFunctions, TouchWhereTheCoefficientsComeFrom) {
  const auto rows = attention_functions().tables.front().second.json();
  bool found = false;
  for (const auto& row : rows) {
    const double x = row["x"].get<double>();
    if (std::abs(x - std::sqrt(0.5)) > 1e-9) continue;
    found = true;
    EXPECT_NEAR(row["relu2"].get<double>(), 0.5, 1e-9);
    EXPECT_NEAR(row["laplace"].get<double>(), 0.5, 1e-6);
    EXPECT_NEAR(row["relu2_slope"].get<double>(), std::sqrt(2.0), 1e-9);
    EXPECT_NEAR(row["laplace_slope"].get<double>(), std::sqrt(2.0), 1e-5);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace mega::bench
