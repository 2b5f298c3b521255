#include "cli/compare/rate_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "cli/compare/trained_run.h"

namespace mega::cli {
namespace {

// All rates that a search tries, if `valid` is what training with a rate gives.
std::vector<double> tries(double recipe_rate, bool higher_is_better,
                          const std::function<double(double)>& valid) {
  std::vector<TriedRate> tried;
  std::vector<double> rates;
  while (const auto rate = next_rate(recipe_rate, tried, higher_is_better)) {
    tried.push_back({*rate, valid(*rate)});
    rates.push_back(*rate);
  }
  return rates;
}

TEST(RateSearch, StopsWhenTheBestLiesWithin) {
  EXPECT_EQ(tries(4, true, [](double rate) { return -std::abs(rate - 4); }), (std::vector<double>{4, 2, 8}));
}

TEST(RateSearch, GoesOnWhereTheBestIsAtAnEnd) {
  const auto loss = [](double rate) { return std::abs(std::log2(rate) - 4); };  // least at 16
  EXPECT_EQ(tries(4, false, loss), (std::vector<double>{4, 2, 8, 16, 32}));
  const auto accuracy = [](double rate) { return -std::abs(std::log2(rate)); };  // most at 1
  EXPECT_EQ(tries(4, true, accuracy), (std::vector<double>{4, 2, 8, 1, 0.5}));
}

TEST(RateSearch, EndsSometime) {
  EXPECT_EQ(tries(1, true, [](double rate) { return rate; }).size(), kMostRates);
}

TEST(RateSearch, WhatDivergesIsNeverBest) {
  const auto valid = [](double rate) { return rate > 4 ? kNoScore : rate; };
  EXPECT_EQ(tries(4, true, valid), (std::vector<double>{4, 2, 8}));
  EXPECT_EQ(best_rate({{8, kNoScore}, {4, 0.1}, {2, 0.05}}, true).rate, 4);
  EXPECT_EQ(best_rate({{8, kNoScore}, {4, 0.1}, {2, 0.05}}, false).rate, 2);
  EXPECT_EQ(tries(4, true, [](double) { return kNoScore; }).size(), kFewestRates);
}

}  // namespace
}  // namespace mega::cli
