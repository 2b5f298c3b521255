// The complex scan against a plain loop in double, on every instruction set.
#include "mega/kernels/complex_ema.h"

#include <gtest/gtest.h>

#include <complex>
#include <random>
#include <vector>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using Floats = std::vector<float>;
using Complex = std::complex<double>;
using mega::testing::for_each_target;

TEST(ComplexEmaScan, IsItsRecurrence) {
  for_each_target([] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const auto draw = [&](int64_t count, float scale) {
      Floats values(static_cast<size_t>(count));
      for (float& value : values) value = scale * normal(random);
      return values;
    };
    for (const int64_t width : {1, 16, 21})
      for (const int64_t n : {1, 3, 16})
        for (const int64_t length : {1, 7, 8, 37})
          for (const bool reverse : {false, true}) {
            const Floats x = draw(length * width, 1.0f), q = draw(width * 2 * n, 0.2f),
                         b = draw(width * n, 1.0f), c = draw(width * 2 * n, 1.0f),
                         h0 = draw(width * 2 * n, 1.0f), skip = draw(width, 1.0f);
            const auto packed = [&](const Floats& rows, int64_t columns) {
              Floats result(static_cast<size_t>(ema_groups(width) * columns * kEmaLanes));
              ema_pack(rows.data(), width, columns, result.data());
              return result;
            };
            const Floats decay = packed(q, 2 * n), input = packed(b, n), output = packed(c, 2 * n);
            Floats state = packed(h0, 2 * n), y(x.size());
            for (int64_t group = 0; group < ema_groups(width); ++group) {
              const int64_t at = group * n * kEmaLanes, first = group * kEmaLanes;
              const EmaRows rows{x.data() + first, width, length, std::min(kEmaLanes, width - first),
                                 nullptr};
              EmaOutput out;
              out.data = y.data() + first;
              out.stride = width;
              out.skip = skip.data() + first;
              complex_ema_scan(rows, {n, decay.data() + 2 * at, input.data() + at, output.data() + 2 * at},
                               {0, length, reverse}, state.data() + 2 * at, out);
            }
            for (int64_t channel = 0; channel < width; ++channel) {
              const auto of = [&](const Floats& values, int64_t k) {
                const auto at = static_cast<size_t>((channel * n + k) * 2);
                return Complex(static_cast<double>(values[at]), static_cast<double>(values[at + 1]));
              };
              std::vector<Complex> h;
              for (int64_t k = 0; k < n; ++k) h.push_back(of(h0, k));
              for (int64_t tau = 0; tau < length; ++tau) {
                const int64_t t = reverse ? length - 1 - tau : tau;
                const auto in = static_cast<double>(x[static_cast<size_t>(t * width + channel)]);
                double sum = static_cast<double>(skip[static_cast<size_t>(channel)]) * in;
                for (int64_t k = 0; k < n; ++k) {
                  Complex& one = h[static_cast<size_t>(k)];
                  one = of(q, k) * one + static_cast<double>(b[static_cast<size_t>(channel * n + k)]) * in;
                  sum += (of(c, k) * one).real();
                }
                EXPECT_NEAR(static_cast<double>(y[static_cast<size_t>(t * width + channel)]), sum,
                            1e-4 * (1.0 + std::abs(sum)));
              }
            }
          }
  });
}

}  // namespace
}  // namespace mega::kernels
