#include "mega/train/signals.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "mega/ops/matmul.h"

namespace mega::train {
namespace {

TEST(Signals, DoNotDisturbProducts) {
  const SignalGuard guard;
  std::atomic<bool> done = false;
  // Hang-ups, which are taken as one event however many there are.
  std::thread sender([&, main = pthread_self()] {
    while (!done) {
      pthread_kill(main, SIGHUP);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  int64_t wrong = 0;
  for (int64_t i = 0; i < 1500; ++i) {
    const int64_t rows = 1 + i * 37 % 300, columns = 1 + i * 101 % 300, depth = 1 + i * 53 % 300;
    const std::vector<float> a(static_cast<size_t>(rows * depth), 1.0f),
        b(static_cast<size_t>(depth * columns), 1.0f);
    std::vector<float> c(static_cast<size_t>(rows * columns));
    ops::matmul(rows, columns, depth, {a.data(), depth, false}, {b.data(), columns, false}, c.data(),
                columns);
    for (const float x : c) wrong += x != static_cast<float>(depth) ? 1 : 0;
  }
  done = true;
  sender.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(SignalGuard::received(), SIGHUP);
}

}  // namespace
}  // namespace mega::train
