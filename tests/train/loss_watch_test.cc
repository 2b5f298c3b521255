#include "mega/train/loss_watch.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mega::train {
namespace {

// A loss that goes down with some noise.
double loss(int64_t update) {
  const double x = static_cast<double>(update);
  return 2.0 * std::exp(-x / 300.0) + 0.1 * std::sin(12.9898 * x);
}

TEST(LossWatch, IsSilentWhileTheLossGoesDown) {
  LossWatch watch;
  for (int64_t update = 0; update < 2000; ++update) EXPECT_FALSE(watch.add(loss(update))) << update;
}

TEST(LossWatch, SeesASpikeAndTheNext) {
  LossWatch watch;
  for (int64_t update = 0; update < 200; ++update) watch.add(loss(update));
  const auto first = watch.add(10.0), second = watch.add(10.0);
  ASSERT_TRUE(first && second) << "one spike does not hide the next";
  EXPECT_GT(*first, 6.0);
  EXPECT_FALSE(watch.add(loss(202)));
}

TEST(LossWatch, DoesNotJudgeByTheFirstUpdates) {
  LossWatch watch;
  for (int i = 0; i < 49; ++i) EXPECT_FALSE(watch.add(i % 7 == 0 ? 100.0 : 1.0));
}

TEST(LossWatch, LearnsANewLevelInTheEnd) {
  LossWatch watch;
  for (int64_t update = 0; update < 200; ++update)
    watch.add(1.0 + 0.05 * std::sin(7.0 * static_cast<double>(update)));
  int64_t spikes = 0;
  for (int64_t update = 0; update < 1000; ++update) spikes += watch.add(2.0) ? 1 : 0;
  EXPECT_GT(spikes, 0);
  EXPECT_LT(spikes, 100);
}

TEST(LossWatch, AConstantLossHasNoTinySpikes) {
  LossWatch watch;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(watch.add(1.0));
  EXPECT_FALSE(watch.add(1.001)) << "a thousandth is within rounding";
  EXPECT_TRUE(watch.add(1.1));
}

}  // namespace
}  // namespace mega::train
