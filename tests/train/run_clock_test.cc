#include "mega/train/run_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "mega/ops/runtime.h"

namespace mega::train {
namespace {

TEST(RunClock, CountsWorkOrTimeThatPasses) {
  ops::set_threads(1);
  const RunClock wall(TimeSource::wall), cpu(TimeSource::cpu);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_GE(wall.seconds(), 0.2);
  EXPECT_LT(cpu.seconds(), 0.1) << "sleeping is no work";
  const double before = cpu.seconds();
  while (cpu.seconds() < before + 0.1) {
  }
  EXPECT_GE(wall.seconds(), 0.3);
}

TEST(RunClock, IsTheMeanOverThreads) {
  ops::set_threads(2);
  const RunClock clock(TimeSource::cpu);
  const std::clock_t start = std::clock();
  while (std::clock() - start < CLOCKS_PER_SEC / 5) {
  }
  EXPECT_NEAR(clock.seconds(), 0.1, 0.02) << "0.2 seconds of work";
  ops::set_threads(1);
}

}  // namespace
}  // namespace mega::train
