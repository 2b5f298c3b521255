// Batch normalisation against its definition in double, on every instruction set this CPU has.
#include "mega/kernels/batch_norm.h"

#include <gtest/gtest.h>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using mega::testing::expect_matrix;
using mega::testing::for_each_target;
using mega::testing::Matrix;

constexpr int64_t kRows = 9;

std::vector<double> random_row(int64_t columns, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<double> row(static_cast<size_t>(columns));
  for (double& value : row) value = normal(random);
  return row;
}

void check(int64_t columns, std::mt19937& random) {
  Matrix x(kRows, columns), dy(kRows, columns), y(kRows, columns), dx(kRows, columns);
  x.randomize(random);
  dy.randomize(random);
  const auto mean = random_row(columns, random), scale = random_row(columns, random),
             bias = random_row(columns, random), slope = random_row(columns, random);
  std::vector<double> sums[4];
  for (auto& sum : sums) sum.assign(static_cast<size_t>(columns), 0.0);
  for (const auto& [begin, end] : {std::pair{0, 4}, std::pair{4, 9}}) {
    batch_moments(x, mean.data(), sums[0].data(), sums[1].data(), begin, end, columns);
    batch_norm_sums(x, mean.data(), dy, sums[2].data(), sums[3].data(), begin, end, columns);
    batch_norm(x, mean.data(), scale.data(), bias.data(), y, begin, end, columns);
    batch_norm_backward(x, mean.data(), dy, bias.data(), slope.data(), scale.data(), dx, begin, end, columns);
  }
  const Matrix &in = x, &gradient = dy;
  const auto centred = [&](int64_t r, int64_t c) { return in(r, c) - mean[c]; };
  for (int64_t c = 0; c < columns; ++c) {
    double expected[4] = {};
    for (int64_t r = 0; r < kRows; ++r) {
      expected[0] += centred(r, c);
      expected[1] += centred(r, c) * centred(r, c);
      expected[2] += gradient(r, c);
      expected[3] += gradient(r, c) * centred(r, c);
    }
    for (int i = 0; i < 4; ++i)
      EXPECT_NEAR(sums[i][c], expected[i], 1e-12) << "sum " << i << " of column " << c;
  }
  expect_matrix(
      y, [&](int64_t r, int64_t c) { return centred(r, c) * scale[c] + bias[c]; }, 1e-7, "y");
  expect_matrix(
      dx,
      [&](int64_t r, int64_t c) { return (gradient(r, c) - bias[c] - centred(r, c) * slope[c]) * scale[c]; },
      1e-7, "dx");
}

TEST(BatchNormKernel, AgreesWithDefinition) {
  for_each_target([] {
    std::mt19937 random(1);
    for (const int64_t columns : {1, 2, 5, 8, 16, 31, 64, 80, 129}) {
      SCOPED_TRACE(columns);
      check(columns, random);
    }
  });
}

}  // namespace
}  // namespace mega::kernels
