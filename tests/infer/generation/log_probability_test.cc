#include "mega/infer/generation/log_probability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/base/helpers.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(LogProbability, IsTheLogOfTheSoftmax) {
  const std::vector<float> logits = {100.0F, 100.0F + std::log(3.0F), -kInfinity};
  EXPECT_NEAR(log_probability(logits, 0), std::log(0.25), 1e-5);
  EXPECT_NEAR(log_probability(logits, 1), std::log(0.75), 1e-5);
  EXPECT_EQ(log_probability(logits, 2), -std::numeric_limits<double>::infinity());
}

TEST(LogProbability, InvalidLogitsAreErrors) {
  for (const std::vector<float>& logits :
       std::vector<std::vector<float>>{{kNaN, 0}, {0, kNaN}, {0, kInfinity}, {-kInfinity, -kInfinity}}) {
    EXPECT_PRED2(contains, error_of([&] { log_probability(logits, 0); }), "not finite");
  }
  for (const int32_t token : {-1, 2}) {
    const auto ask = [&] { log_probability(std::vector<float>{0, 0}, token); };
    EXPECT_PRED2(contains, error_of(ask), "the model has only 2 tokens");
  }
}

}  // namespace
}  // namespace mega::infer
