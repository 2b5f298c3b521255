#include "mega/infer/product_rate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

namespace mega::infer {
namespace {

TEST(ProductRate, IsARateAndTakesLittleTime) {
  ThreadPool pool(2);
  const auto start = std::chrono::steady_clock::now();
  const double gflops = product_gflops(pool);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GT(gflops, 0.01);
  EXPECT_LT(gflops, 1e6);
  EXPECT_LT(seconds, 5.0) << "milliseconds, but the machine may be busy";
}

}  // namespace
}  // namespace mega::infer
