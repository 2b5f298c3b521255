// Row normalisation against its definition in double, on every instruction set this CPU has.
#include "mega/kernels/norm.h"

#include <gtest/gtest.h>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using mega::testing::expect_matrix;
using mega::testing::for_each_target;
using mega::testing::Matrix;

constexpr int64_t kRows = 9;
constexpr double kEpsilon = 1e-5;

struct Problem {
  const Matrix &x, &weight, &dy;
  bool weighted, scalar;

  double w(int64_t c) const { return weighted ? weight(0, scalar ? 0 : c) : 1.0; }
  double mean(const auto& term) const {
    double sum = 0;
    for (int64_t c = 0; c < x.columns(); ++c) sum += term(c);
    return sum / static_cast<double>(x.columns());
  }
  double inverse(int64_t r) const {
    return 1 / std::sqrt(mean([&](int64_t c) { return x(r, c) * x(r, c); }) + kEpsilon);
  }
  double y(int64_t r, int64_t c) const { return x(r, c) * inverse(r) * w(c); }
  double dx(int64_t r, int64_t c) const {
    const double i = inverse(r), inner = mean([&](int64_t k) { return w(k) * dy(r, k) * x(r, k); });
    return i * w(c) * dy(r, c) - x(r, c) * i * i * i * inner;
  }
  double dweight(int64_t c) const {
    double sum = 0;
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t k = scalar ? 0 : c; k < (scalar ? x.columns() : c + 1); ++k)
        sum += dy(r, k) * x(r, k) * inverse(r);
    return sum;
  }
};

void check(int64_t columns, bool weighted, bool scalar, std::mt19937& random) {
  Matrix x(kRows, columns), weight(1, columns), dy(kRows, columns);
  for (Matrix* m : {&x, &weight, &dy}) m->randomize(random);
  for (int64_t c = 0; c < columns; ++c) {
    x(1, c) = 0.0f;     // a row of zeros
    x(2, c) *= 1e4f;    // large
    x(3, c) *= 1e-40f;  // denormal
    x(4, c) = c == 0 ? 1e4f : 0.0f;
  }
  const Problem problem{x, weight, dy, weighted, scalar};
  const float* w = weighted ? weight.data() : nullptr;
  Matrix y(kRows, columns), dx(kRows, columns), inverse(1, kRows), dweight(1, scalar ? 1 : columns);
  dweight.fill([] { return 0.0f; });
  for (const auto& [begin, end] : {std::pair{0, 4}, std::pair{4, 9}}) {
    rms_norm(x, w, scalar, static_cast<float>(kEpsilon), y, inverse.data(), begin, end, columns);
    rms_norm_backward(x, w, scalar, inverse.data(), dy, dx, weighted ? dweight.data() : nullptr, begin, end,
                      columns);
  }
  expect_matrix(
      y, [&](int64_t r, int64_t c) { return problem.y(r, c); }, 1e-6, "y");
  expect_matrix(
      dx, [&](int64_t r, int64_t c) { return problem.dx(r, c); }, 2e-6, "dx");
  expect_matrix(
      inverse, [&](int64_t, int64_t r) { return problem.inverse(r); }, 1e-6, "inverse");
  if (weighted)
    expect_matrix(
        dweight, [&](int64_t, int64_t c) { return problem.dweight(c); }, 4e-6, "dweight", 1);
}

TEST(RmsNormKernel, AgreesWithDefinition) {
  for_each_target([] {
    std::mt19937 random(1);
    for (const int64_t columns : {1, 2, 5, 8, 16, 31, 64, 80, 129}) {
      SCOPED_TRACE(columns);
      check(columns, false, false, random);
      check(columns, true, false, random);
      check(columns, true, true, random);
    }
  });
}

// Rows are independent: a large one does not affect the accuracy of a small one.
TEST(RmsNormKernel, RowsAreIndependent) {
  for_each_target([] {
    std::mt19937 random(2);
    Matrix x(2, 37), y(2, 37), alone(1, 37), inverse(1, 2);
    x.randomize(random);
    for (int64_t c = 0; c < 37; ++c) x(0, c) *= 1e4f;
    rms_norm(x, nullptr, false, 1e-5f, y, inverse.data(), 0, 2, 37);
    rms_norm(ConstRows{&x(1, 0), 0}, nullptr, false, 1e-5f, alone, inverse.data(), 0, 1, 37);
    for (int64_t c = 0; c < 37; ++c) EXPECT_EQ(y(1, c), alone(0, c));
  });
}

Matrix layer_norm_loops(const Matrix& x, const Matrix& weight, const Matrix& bias, bool weighted,
                        bool biased) {
  const int64_t columns = x.columns();
  Matrix y(kRows, columns);
  for (int64_t r = 0; r < kRows; ++r) {
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < columns; ++c) mean += x(r, c) / static_cast<double>(columns);
    for (int64_t c = 0; c < columns; ++c)
      variance += (x(r, c) - mean) * (x(r, c) - mean) / static_cast<double>(columns);
    for (int64_t c = 0; c < columns; ++c) {
      const double value = (x(r, c) - mean) / std::sqrt(variance + kEpsilon);
      y(r, c) = static_cast<float>(value * (weighted ? weight(0, c) : 1.0) + (biased ? bias(0, c) : 0.0));
    }
  }
  return y;
}

void check_layer_norm(int64_t columns, bool weighted, bool biased, std::mt19937& random) {
  Matrix x(kRows, columns), weight(1, columns), bias(1, columns);
  for (Matrix* m : {&x, &weight, &bias}) m->randomize(random);
  for (int64_t c = 0; c < columns; ++c) {
    x(1, c) = 7.0f;     // no variance
    x(2, c) *= 1e4f;    // large
    x(3, c) *= 1e-40f;  // denormal
    x(4, c) += 100.0f;  // far from zero
  }
  const Matrix expected = layer_norm_loops(x, weight, bias, weighted, biased);
  Matrix y(kRows, columns), in_place = x;
  const float* w = weighted ? weight.data() : nullptr;
  const float* b = biased ? bias.data() : nullptr;
  for (const auto& [begin, end] : {std::pair{0, 4}, std::pair{4, 9}}) {
    layer_norm(x, w, b, static_cast<float>(kEpsilon), y, begin, end, columns);
    layer_norm(in_place, w, b, static_cast<float>(kEpsilon), in_place, begin, end, columns);
  }
  const auto element = [&](int64_t r, int64_t c) { return expected(r, c); };
  expect_matrix(y, element, 1e-6, "y", 1);
  expect_matrix(in_place, element, 1e-6, "y in place of x", 1);
}

TEST(LayerNormKernel, AgreesWithDefinition) {
  for_each_target([] {
    std::mt19937 random(3);
    for (const int64_t columns : {1, 2, 5, 8, 16, 31, 64, 80, 129, 1024}) {
      SCOPED_TRACE(columns);
      for (const bool weighted : {false, true})
        for (const bool biased : {false, true}) check_layer_norm(columns, weighted, biased, random);
    }
  });
}

}  // namespace
}  // namespace mega::kernels
