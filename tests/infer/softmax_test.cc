#include "mega/infer/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mega::infer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Softmax, SumsExponentialsOfAnySize) {
  for (const float shift : {0.0f, 1e4f, -1e4f}) {
    const std::vector<float> x = {shift, shift + 1.0f, shift - 2.0f};
    const double expected = std::log(1.0 + std::exp(1.0) + std::exp(-2.0));
    EXPECT_NEAR(exp_sum(x).log(), static_cast<double>(shift) + expected, 1e-7);
    EXPECT_NEAR(exact_exp_sum(x).log(), static_cast<double>(shift) + expected, 1e-11);
    EXPECT_EQ(exp_sum(x).max, shift + 1.0f);
  }
  const std::vector<float> some = {-kInfinity, 0.0f};
  EXPECT_EQ(exp_sum(some).sum, 1.0);
  EXPECT_EQ(softmax(some), (std::vector<float>{0.0f, 1.0f}));
}

TEST(Softmax, WhatIsNoDistributionIsNotANumber) {
  for (const float bad : {kInfinity, std::nanf("")}) {
    EXPECT_TRUE(std::isnan(exp_sum(std::vector<float>{0.0f, bad}).sum));
    EXPECT_TRUE(std::isnan(exact_exp_sum(std::vector<float>{0.0f, bad}).sum));
  }
  const std::vector<float> none(3, -kInfinity);
  EXPECT_TRUE(std::isnan(exp_sum(none).sum));
  EXPECT_EQ(exp_sum(none).log(), static_cast<double>(-kInfinity)) << "the probability of all together is 0";
}

TEST(Softmax, IsADistribution) {
  const std::vector<float> p = softmax(std::vector<float>{1.0f, 2.0f, 3.0f, 88.0f, 89.0f});
  double sum = 0.0;
  for (const float each : p) sum += static_cast<double>(each);
  EXPECT_NEAR(sum, 1.0, 1e-6);
  EXPECT_NEAR(static_cast<double>(p[4] / p[3]), std::exp(1.0), 1e-6);
}

}  // namespace
}  // namespace mega::infer
