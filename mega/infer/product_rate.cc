#include "mega/infer/product_rate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "mega/infer/layers/linear.h"

namespace mega::infer {

double product_gflops(ThreadPool& pool) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kRows = 128, kOutputs = 256, kInputs = 512;  // all of it fits a second-level cache
  constexpr double kLongEnough = 0.01;
  const std::vector<float> weights(kOutputs * kInputs, 0.5F), x(kRows * kInputs, 0.25F);
  std::vector<float> y(kRows * kOutputs);
  const Linear linear({kernels::WeightType::f32, weights.data(), kOutputs, kInputs});
  Workspace work;
  double best = INFINITY;  // the fastest: everything else was disturbed
  const auto start = Clock::now();
  for (double passed = 0.0; passed < kLongEnough;) {
    const auto begin = Clock::now();
    multiply(linear, {x.data(), kInputs}, {y.data(), kOutputs}, kRows, {pool, work});
    const auto end = Clock::now();
    best = std::min(best, std::chrono::duration<double>(end - begin).count());
    passed = std::chrono::duration<double>(end - start).count();
  }
  return 2e-9 * static_cast<double>(kRows * kOutputs * kInputs) / best;
}

}  // namespace mega::infer
