#include "mega/train/schedule.h"

#include <gtest/gtest.h>

namespace mega::train {
namespace {

TrainOptions options(Schedule schedule) {
  TrainOptions result;
  result.learning_rate = 4e-3;
  result.initial_learning_rate = 1e-7;
  result.final_learning_rate = 1e-4;
  result.schedule = schedule;
  result.warmup = 100;
  result.updates = 1000;
  return result;
}

const std::vector<Schedule> kAll = {Schedule::linear, Schedule::cosine, Schedule::cosine_full,
                                    Schedule::inverse_sqrt, Schedule::constant};

TEST(Schedule, WarmsUpInAStraightLine) {
  for (const Schedule schedule : kAll) {
    SCOPED_TRACE(to_string(schedule));
    const TrainOptions o = options(schedule);
    EXPECT_DOUBLE_EQ(learning_rate(o, 0), 1e-7);  // the first update, as released
    EXPECT_DOUBLE_EQ(learning_rate(o, 50), 0.5 * (4e-3 + 1e-7));
    EXPECT_DOUBLE_EQ(learning_rate(o, 100), 4e-3);
    for (int64_t step = 1; step <= 100; ++step) EXPECT_GT(learning_rate(o, step), learning_rate(o, step - 1));
  }
}

TEST(Schedule, WarmsUpInAParabola) {
  TrainOptions o = options(Schedule::linear);
  o.warmup_power = 2.0;
  EXPECT_DOUBLE_EQ(learning_rate(o, 0), 1e-7);
  EXPECT_DOUBLE_EQ(learning_rate(o, 50), 1e-7 + 0.25 * (4e-3 - 1e-7));
  EXPECT_DOUBLE_EQ(learning_rate(o, 100), 4e-3);
}

TEST(Schedule, LinearAndCosineGoDownToTheFinalRate) {
  for (const Schedule schedule : {Schedule::linear, Schedule::cosine}) {
    SCOPED_TRACE(to_string(schedule));
    const TrainOptions o = options(schedule);
    for (int64_t step = 101; step <= 1000; ++step)
      EXPECT_LT(learning_rate(o, step), learning_rate(o, step - 1));
    EXPECT_NEAR(learning_rate(o, 550), 0.5 * (4e-3 + 1e-4), 1e-12);  // half-way
    EXPECT_NEAR(learning_rate(o, 1000), 1e-4, 1e-15);
    EXPECT_NEAR(learning_rate(o, 5000), 1e-4, 1e-15);
  }
}

TEST(Schedule, LinearFallsByTheSameAtEachUpdate) {
  const TrainOptions o = options(Schedule::linear);
  for (int64_t step = 101; step <= 1000; ++step)
    EXPECT_NEAR(learning_rate(o, step - 1) - learning_rate(o, step), (4e-3 - 1e-4) / 900, 1e-15);
}

TEST(Schedule, CosineIsFlatAtBothEnds) {
  const TrainOptions o = options(Schedule::cosine);
  const auto fall = [&](int64_t step) { return learning_rate(o, step - 1) - learning_rate(o, step); };
  EXPECT_LT(fall(101), 0.01 * fall(550));
  EXPECT_LT(fall(1000), 0.01 * fall(550));
  EXPECT_NEAR(learning_rate(o, 325) + learning_rate(o, 775), 4e-3 + 1e-4, 1e-12);  // symmetric
}

// Half of its length after the warm-up is half of all updates, not of those that are left.
TEST(Schedule, AFullCosineEndsBeforeItsMinimum) {
  const TrainOptions o = options(Schedule::cosine_full);
  EXPECT_NEAR(learning_rate(o, 600), 0.5 * (4e-3 + 1e-4), 1e-12);
  EXPECT_GT(learning_rate(o, 1000), 1.5e-4);
  EXPECT_NEAR(learning_rate(o, 1100), 1e-4, 1e-15);
}

TEST(Schedule, HoldsARateForSomeUpdates) {
  for (const Schedule schedule : kAll) {
    SCOPED_TRACE(to_string(schedule));
    TrainOptions o = options(schedule);
    const TrainOptions plain = o;
    o.hold = 25;
    for (int64_t update = 0; update < 1000; ++update)
      EXPECT_EQ(learning_rate(o, update), learning_rate(plain, update / 25 * 25));
  }
}

TEST(Schedule, InverseSqrtHalvesWhenTheStepsQuadruple) {
  const TrainOptions o = options(Schedule::inverse_sqrt);
  EXPECT_DOUBLE_EQ(learning_rate(o, 400), 2e-3);
  EXPECT_DOUBLE_EQ(learning_rate(o, 1600), 1e-3);  // it has no end
}

TEST(Schedule, ConstantStays) {
  const TrainOptions o = options(Schedule::constant);
  for (const int64_t step : {101, 500, 1000, 5000}) EXPECT_EQ(learning_rate(o, step), 4e-3);
}

TEST(Schedule, WithoutAWarmUpItStartsAtThePeak) {
  for (const Schedule schedule : kAll) {
    SCOPED_TRACE(to_string(schedule));
    TrainOptions o = options(schedule);
    o.warmup = 0;
    EXPECT_DOUBLE_EQ(learning_rate(o, 0), 4e-3);
  }
}

TEST(Schedule, AWarmUpMayLastAllTheTime) {
  TrainOptions o = options(Schedule::linear);
  o.warmup = o.updates;
  EXPECT_DOUBLE_EQ(learning_rate(o, 1000), 4e-3);
  EXPECT_DOUBLE_EQ(learning_rate(o, 1001), 1e-4);
}

}  // namespace
}  // namespace mega::train
