// Adam with decoupled weight decay against the formula in double, on every instruction set this CPU has.
#include "mega/kernels/adam.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using mega::testing::for_each_target;
using mega::testing::Matrix;

TEST(AdamKernel, AgreesWithFormula) {
  for_each_target([] {
    std::mt19937 random(1);
    for (const int64_t count : {1, 3, 8, 15, 16, 17, 100, 1001}) {
      Matrix g(1, count), p(1, count), m(1, count), v(1, count);
      p.randomize(random);
      m.fill([] { return 0.0f; });
      v.fill([] { return 0.0f; });
      std::vector<double> parameter, mean(static_cast<size_t>(count)), square(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) parameter.push_back(static_cast<double>(p(0, i)));
      for (int step = 1; step <= 20; ++step) {
        g.randomize(random, step % 3 == 0 ? 1e4f : 1e-3f);
        if (step == 4) g(0, 0) = 0.0f;
        // The rate includes sqrt(1 - beta2^t) / (1 - beta1^t).
        const double rate = 0.01 * std::sqrt(1 - std::pow(0.98, step)) / (1 - std::pow(0.9, step));
        const AdamStep settings{1e-4f, static_cast<float>(rate), 0.9f, 0.98f, 1e-8f, 0.5f};
        adam(settings, g.data(), p.data(), m.data(), v.data(), count);
        for (int64_t i = 0; i < count; ++i) {
          const double gradient = 0.5 * static_cast<double>(g(0, i));
          double &pi = parameter[static_cast<size_t>(i)], &mi = mean[static_cast<size_t>(i)],
                 &vi = square[static_cast<size_t>(i)];
          mi = 0.9 * mi + 0.1 * gradient;
          vi = 0.98 * vi + 0.02 * gradient * gradient;
          pi = pi - 1e-4 * pi - rate * mi / (std::sqrt(vi) + 1e-8);
          ASSERT_NEAR(static_cast<double>(p(0, i)), pi, 1e-5 * std::max(1.0, std::abs(pi)));
          ASSERT_NEAR(static_cast<double>(m(0, i)), mi, 1e-5 * std::max(1.0, std::abs(mi)) * 1e2);
          ASSERT_NEAR(static_cast<double>(v(0, i)), vi, 1e-5 * std::abs(vi) + 1e-12);
        }
      }
      for (const Matrix* x : {&g, &p, &m, &v}) EXPECT_TRUE(x->intact());
    }
  });
}

// With a zero gradient only weight decay remains; a zero second moment divides by epsilon, not by zero.
TEST(AdamKernel, ZeroGradientOnlyDecays) {
  for_each_target([] {
    Matrix g(1, 19), p(1, 19), m(1, 19), v(1, 19);
    for (Matrix* x : {&g, &m, &v}) x->fill([] { return 0.0f; });
    p.fill([] { return 2.0f; });
    adam({0.25f, 0.1f, 0.9f, 0.98f, 1e-8f, 1.0f}, g.data(), p.data(), m.data(), v.data(), 19);
    for (int64_t i = 0; i < 19; ++i) EXPECT_EQ(p(0, i), 1.5f);
  });
}

}  // namespace
}  // namespace mega::kernels
