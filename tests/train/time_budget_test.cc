#include "mega/train/time_budget.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mega::train {
namespace {

// A run on a machine whose updates take as long as `update` says, on a clock of its own.
struct Simulation {
  double now = 3.0;  // reading the data took this long
  std::function<double(double now)> update = [](double) { return 0.1; };
  double evaluation_per_item = 0.001;
  EvaluationSizes sizes{1000, 1000};
  UpdateCost measured{0.1, 16};
  double period = 10.0;  // seconds of updates between evaluations

  int64_t updates = 0, evaluations = 0, tested = 0;

  // Returns when it was over.
  double run(double seconds) {
    TimeBudget budget(
        seconds, [this] { return now; }, measured, sizes);
    const auto evaluate = [&] {
      const double took = evaluation_per_item * static_cast<double>(budget.valid_limit());
      now += took;
      budget.add_evaluation(took);
      ++evaluations;
    };
    double since = 0.0;
    while (budget.updates_left(period) > 0) {
      const double took = update(now);
      now += took;
      since += took;
      budget.add_update(took);
      ++updates;
      if (since >= period) {
        evaluate();
        since = 0.0;
      }
    }
    evaluate();
    tested = budget.test_limit();
    now += evaluation_per_item * static_cast<double>(tested);
    return now;
  }
};

TEST(TimeBudget, EndsInTime) {
  Simulation simulation;
  EXPECT_NEAR(simulation.run(120.0), 120.0, 3.0);
  EXPECT_GE(simulation.evaluations, 9);
  EXPECT_EQ(simulation.tested, 1000);
  EXPECT_NEAR(static_cast<double>(simulation.updates), 1050.0, 60.0) << "the time is used";
}

TEST(TimeBudget, FollowsAMachineThatBecomesBusyAndIdleAgain) {
  Simulation simulation;
  simulation.update = [](double now) { return now > 30 && now < 70 ? 0.8 : 0.1; };
  EXPECT_NEAR(simulation.run(120.0), 120.0, 4.0);
  Simulation slow;
  slow.update = [](double now) { return now > 60 ? 1.0 : 0.05; };
  EXPECT_NEAR(slow.run(120.0), 120.0, 5.0);
}

TEST(TimeBudget, AWrongFirstMeasurementDoesNotMatter) {
  for (const double wrong : {0.005, 5.0}) {
    Simulation simulation;
    simulation.measured.seconds = wrong;
    EXPECT_NEAR(simulation.run(120.0), 120.0, 6.0) << wrong;
    EXPECT_GE(simulation.evaluations, 8) << wrong;
  }
}

TEST(TimeBudget, LargeEvaluationsAreLimited) {
  Simulation simulation;
  simulation.sizes = {1'000'000, 2'000'000};
  EXPECT_NEAR(simulation.run(120.0), 120.0, 5.0);
  EXPECT_LT(simulation.tested, 60'000);
  EXPECT_GT(simulation.tested, 5'000) << "the test gets its share";
  EXPECT_GT(simulation.updates, 600) << "most of the time is for training";
}

TEST(TimeBudget, EvaluatesOnEnoughHoweverShort) {
  const TimeBudget budget(0.01, [] { return 5.0; }, {1.0, 16}, {1000, 20});
  EXPECT_EQ(budget.updates_left(10.0), 0);
  EXPECT_EQ(budget.valid_limit(), 100);
  EXPECT_EQ(budget.test_limit(), 20) << "no more than there are";
}

TEST(TimeBudget, NothingToEvaluateOrMeasureIsNoTrouble) {
  const TimeBudget budget(10.0, [] { return 1.0; }, {0.0, 0.0}, {0, 0});
  EXPECT_EQ(budget.valid_limit(), 0);
  EXPECT_EQ(budget.test_limit(), 0);
  EXPECT_EQ(budget.updates_left(0.0), 1) << "the first update will tell";
}

}  // namespace
}  // namespace mega::train
