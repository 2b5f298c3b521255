// Log-probabilities against their definition in double, on every instruction set this CPU has.
#include "mega/kernels/log_softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using mega::testing::for_each_target;
using mega::testing::Matrix;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(LogSoftmax, IsItsDefinition) {
  for_each_target([] {
    std::mt19937 random(1);
    for (const int64_t columns : {1, 2, 7, 16, 33, 100, 5001, 20000}) {
      Matrix x(3, columns), y(3, columns);
      x.randomize(random);
      for (int64_t c = 0; c < columns; ++c) x(1, c) = x(1, c) * 30.0f + 1000.0f;
      if (columns > 2) x(2, columns / 2) = -kInfinity;
      log_softmax(x, y, 0, 3, columns);
      for (int64_t r = 0; r < 3; ++r) {
        double largest = -1e30, sum = 0.0;
        for (int64_t c = 0; c < columns; ++c) largest = std::max(largest, static_cast<double>(x(r, c)));
        for (int64_t c = 0; c < columns; ++c) sum += std::exp(static_cast<double>(x(r, c)) - largest);
        for (int64_t c = 0; c < columns; ++c) {
          const double expected = static_cast<double>(x(r, c)) - largest - std::log(sum);
          if (expected == -std::numeric_limits<double>::infinity()) {
            EXPECT_EQ(y(r, c), -kInfinity);
          } else {
            EXPECT_NEAR(y(r, c), expected, 2e-6 * std::max(1.0, std::abs(expected))) << columns;
          }
        }
      }
    }
  });
}

TEST(SoftmaxSums, AndTheGradientAreTheirDefinitions) {
  for_each_target([] {
    std::mt19937 random(2);
    for (const int64_t columns : {1, 2, 7, 16, 33, 100, 5001, 20000}) {
      Matrix x(3, columns), gradient(1, 3);
      x.randomize(random);
      gradient.randomize(random);
      for (int64_t c = 0; c < columns; ++c) x(1, c) = x(1, c) * 30.0f + 1000.0f;
      const Matrix before = x;
      std::vector<float> normalizer(3), mean(3);
      softmax_sums(x, normalizer.data(), mean.data(), 0, 3, columns);
      softmax_gradient(x, normalizer.data(), &gradient(0, 0), 0.125f, 1, 3, columns);
      for (int64_t r = 0; r < 3; ++r) {
        double largest = -1e30, exponentials = 0.0, sum = 0.0;
        for (int64_t c = 0; c < columns; ++c) largest = std::max(largest, static_cast<double>(before(r, c)));
        for (int64_t c = 0; c < columns; ++c) {
          exponentials += std::exp(static_cast<double>(before(r, c)) - largest);
          sum += static_cast<double>(before(r, c));
        }
        const auto at = static_cast<size_t>(r);
        EXPECT_NEAR(normalizer[at], largest + std::log(exponentials), 2e-7 * std::max(10.0, largest));
        EXPECT_NEAR(mean[at], sum / static_cast<double>(columns), 2e-7 * std::max(10.0, largest)) << columns;
        for (int64_t c = 0; c < columns; ++c) {
          // Rows that were not asked for stay.
          const double own = static_cast<double>(before(r, c));
          const double expected = r == 0 ? own
                                         : (std::exp(own - static_cast<double>(normalizer[at])) - 0.125) *
                                               static_cast<double>(gradient(0, r));
          EXPECT_NEAR(x(r, c), expected, 1e-6) << columns;
        }
      }
    }
  });
}

TEST(LogSoftmax, ShowsWhatIsNoDistribution) {
  for_each_target([] {
    for (const float bad : {kNaN, kInfinity}) {
      for (const int64_t place : {0, 17, 36}) {
        std::vector<float> x(37, 1.0f);
        x[static_cast<size_t>(place)] = bad;
        log_softmax({x.data(), 37}, {x.data(), 37}, 0, 1, 37);
        for (const float value : x) EXPECT_TRUE(std::isnan(value)) << bad << " at " << place;
      }
    }
    std::vector<float> x(37, -kInfinity);
    log_softmax({x.data(), 37}, {x.data(), 37}, 0, 1, 37);
    for (const float value : x) EXPECT_TRUE(std::isnan(value));
  });
}

TEST(LogMean, IsItsDefinition) {
  for_each_target([] {
    std::mt19937 random(2);
    for (const int64_t columns : {1, 15, 16, 37}) {
      Matrix x(3, columns);
      x.randomize(random);
      x(0, 0) = x(1, 0) = x(2, 0) = -kInfinity;
      if (columns > 4) {
        x(1, 1) = -kInfinity;
        x(2, 2) = -200.0f;
        x(1, 3) = kNaN;
      }
      std::vector<float> y(static_cast<size_t>(columns));
      const float* rows[] = {&x(0, 0), &x(1, 0), &x(2, 0)};
      log_mean(rows, 3, y.data(), columns);
      EXPECT_EQ(y[0], -kInfinity);
      for (int64_t c = 1; c < columns; ++c) {
        double sum = 0.0;
        for (int64_t r = 0; r < 3; ++r) sum += std::exp(static_cast<double>(x(r, c)));
        if (columns > 4 && c == 3) {
          EXPECT_TRUE(std::isnan(y[3]));
        } else {
          EXPECT_NEAR(y[static_cast<size_t>(c)], std::log(sum / 3), 2e-6);
        }
      }
    }
  });
}

TEST(FindNotBelow, FindsTheFirst) {
  for_each_target([] {
    for (const int64_t columns : {1, 5, 64, 65, 300}) {
      for (int64_t place = 0; place <= columns; place += 3) {
        for (const float value : {0.5f, 0.7f, kNaN}) {
          std::vector<float> x(static_cast<size_t>(columns), 0.4f);
          if (place < columns) x[static_cast<size_t>(place)] = value;
          EXPECT_EQ(find_not_below(x.data(), 0, columns, 0.5f), std::min(place, columns));
          EXPECT_EQ(find_not_below(x.data(), std::min(place + 1, columns), columns, 0.5f), columns);
        }
      }
      std::vector<float> x(static_cast<size_t>(columns), -kInfinity);
      EXPECT_EQ(find_not_below(x.data(), 0, columns, -kInfinity), 0);
    }
  });
}

}  // namespace
}  // namespace mega::kernels
