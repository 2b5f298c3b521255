// The tables of `mega compare`: order, runs that failed, deviation over seeds.
#include "cli/compare/comparison.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/helpers.h"

namespace mega::cli {
namespace {

using testing::contains;

ComparedRun run(int64_t seed, double test) {
  TrainedRun result;
  result.parameters = 1234;
  result.updates = 100;
  result.metric = "accuracy";
  result.valid = result.test = test;
  result.test_ci95 = 0.02;
  result.by_update = {{50, test / 2}, {100, test}};
  result.by_seconds = {{1, test / 2}, {2, test}};
  return {seed, "runs/one", result};
}

Comparison three_models() {
  Comparison comparison;
  comparison.recipe = "small";
  comparison.models = {{"worse", 0.001, {}, {run(1, 0.25)}},
                       {"broken", 0.002, {{0.002, kNoScore, 7}}, {{1, "runs/broken", std::nullopt}}},
                       {"better", 0.004, {{0.004, 1.5, 60}}, {run(1, 0.5), run(2, 0.75)}}};
  return comparison;
}

void expect_order(const Table& table, const std::vector<std::string>& names) {
  const std::string text = table.markdown();
  size_t at = 0;
  for (const std::string& name : names) {
    const size_t next = text.find("| " + name);
    ASSERT_NE(next, std::string::npos) << name;
    EXPECT_GT(next, at) << name;
    at = next;
  }
}

TEST(Comparison, TheBestIsFirstAndWhatFailedLast) {
  expect_order(three_models().table(), {"better", "worse", "broken"});
  EXPECT_TRUE(three_models().any_result() != nullptr);
}

TEST(Comparison, OfSeedsItShowsTheirMeanAndDeviation) {
  const std::string table = three_models().table().markdown();
  EXPECT_PRED2(contains, table, "62.5 % ± 17.7");  // of 0.5 and 0.75
  EXPECT_PRED2(contains, table, "25.0 % ± 2.0") << "of one run, the interval of its examples";
}

TEST(Comparison, LessIsBetterWhereItIs) {
  Comparison comparison = three_models();
  for (ComparedModel& model : comparison.models)
    for (ComparedRun& one : model.runs)
      if (one.result) one.result->higher_is_better = false;
  expect_order(comparison.table(), {"worse", "better", "broken"});
}

TEST(Comparison, CurvesOverUpdatesAreMeans) {
  const auto charts = three_models().charts();
  ASSERT_EQ(charts.size(), 2u);
  const LineChart& updates = charts[1].second;
  ASSERT_EQ(updates.curves.size(), 2u) << "the failed one has none";
  ASSERT_EQ(updates.curves[1].points.size(), 2u);
  EXPECT_DOUBLE_EQ(updates.curves[1].points[1].y, 0.625);
  EXPECT_GT(updates.curves[1].errors[1], 0.0);
  EXPECT_TRUE(Comparison().charts().empty());
}

TEST(Comparison, ProgramsReadTheSame) {
  const nlohmann::ordered_json json = three_models().json();
  EXPECT_EQ(json["metric"], "accuracy");
  EXPECT_EQ(json["models"].size(), 3u);
  EXPECT_FALSE(json["models"][1]["runs"][0].contains("test"));
  EXPECT_TRUE(json["models"][1]["rates"][0]["valid_loss"].is_null());
  EXPECT_EQ(json["models"][2]["runs"][1]["test"], 0.75);
  EXPECT_PRED2(contains, three_models().rates().markdown(), "| failed");
}

}  // namespace
}  // namespace mega::cli
