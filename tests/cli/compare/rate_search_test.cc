#include "cli/compare/rate_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "cli/compare/trained_run.h"

namespace mega::cli {
namespace {

// All rates that a search tries, if `loss` is what training with a rate gives.
std::vector<double> tries(double recipe_rate, const std::function<double(double)>& loss) {
  std::vector<TriedRate> tried;
  std::vector<double> rates;
  while (const auto rate = next_rate(recipe_rate, tried)) {
    tried.push_back({*rate, loss(*rate)});
    rates.push_back(*rate);
  }
  return rates;
}

// Least at 2 to the power of `best`.
auto least_at(double best) {
  return [best](double rate) { return std::abs(std::log2(rate) - best); };
}

TEST(RateSearch, StopsWhenTheBestLiesWithin) {
  EXPECT_EQ(tries(4, least_at(2)), (std::vector<double>{4, 2, 8}));
}

TEST(RateSearch, GoesOnWhereTheBestIsAtAnEnd) {
  EXPECT_EQ(tries(4, least_at(4)), (std::vector<double>{4, 2, 8, 16, 32}));
  EXPECT_EQ(tries(4, least_at(0)), (std::vector<double>{4, 2, 8, 1, 0.5}));
}

TEST(RateSearch, EndsSometime) {
  EXPECT_EQ(tries(1, [](double rate) { return -rate; }).size(), kMostRates);
}

TEST(RateSearch, WhatDivergesIsNeverBest) {
  const auto loss = [](double rate) { return rate > 4 ? kNoScore : -rate; };
  EXPECT_EQ(tries(4, loss), (std::vector<double>{4, 2, 8}));
  EXPECT_EQ(best_rate({{8, kNoScore}, {4, 0.1}, {2, 0.05}}).rate, 2);
  EXPECT_EQ(tries(4, [](double) { return kNoScore; }).size(), kFewestRates);
}

}  // namespace
}  // namespace mega::cli
