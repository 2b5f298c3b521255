// The element-wise kernels against their definitions in double, on every instruction set this CPU has.
#include "mega/kernels/gates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using mega::testing::expect_elements;
using mega::testing::expect_matrix;
using mega::testing::for_each_target;
using mega::testing::Matrix;
using mega::testing::NarrowMatrix;
using mega::testing::sigmoid;

// Largest error of an element, relative to max(1, |x|, |value|). Measured: at most 4.3e-7.
constexpr double kTolerance = 1e-6;
constexpr int64_t kRows = 7;
const std::vector<int64_t> kWidths = {1, 3, 4, 7, 8, 15, 16, 17, 33, 80, 100};
const std::vector<float> kExtremes = {0.0f,   -0.0f, 1e4f,   -1e4f,  87.0f,   -87.0f, 88.0f,
                                      -88.0f, 89.0f, -89.0f, 1e-40f, -1e-40f, 1e-30f, 5.0f};

double activation(Activation kind, double x) {
  switch (kind) {
    case Activation::identity:
      return x;
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x * M_SQRT1_2);
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::relu2:
      return std::max(x, 0.0) * std::max(x, 0.0);
    case Activation::sigmoid:
      return sigmoid(x);
  }
  return NAN;
}

double slope(Activation kind, double x) {
  switch (kind) {
    case Activation::identity:
      return 1;
    case Activation::silu:
      return sigmoid(x) * (1 + x * sigmoid(-x));
    case Activation::gelu:
      return 0.5 * std::erfc(-x * M_SQRT1_2) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
    case Activation::gelu_tanh: {
      const double t = std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
    }
    case Activation::relu:
      return x > 0;
    case Activation::relu2:
      return 2 * std::max(x, 0.0);
    case Activation::sigmoid:
      return sigmoid(x) * sigmoid(-x);
  }
  return NAN;
}

constexpr Activation kActivations[] = {Activation::identity,  Activation::silu, Activation::gelu,
                                       Activation::gelu_tanh, Activation::relu, Activation::relu2,
                                       Activation::sigmoid};

// Random values around zero, with some extreme ones.
Matrix inputs(int64_t columns, std::mt19937& random) {
  Matrix x(kRows, columns);
  x.randomize(random, 3.0f);
  for (int64_t r = 0; r < kRows; r += 2) x(r, columns - 1) = kExtremes[random() % kExtremes.size()];
  return x;
}

// The dropout mask as a matrix.
Matrix mask(const Dropout& dropout, int64_t columns) {
  std::vector<float> flat(static_cast<size_t>(kRows * columns), 1.0f);
  if (dropout.active()) dropout_mask_rows(dropout, flat.data(), 0, kRows, columns);
  Matrix result(kRows, columns);
  auto next = flat.begin();
  return result.fill([&] { return *next++; });
}

template <class Test>
void for_each_width(const Test& test) {
  for_each_target([&] {
    std::mt19937 random(1);
    for (const int64_t columns : kWidths) test(columns, random);
  });
}

TEST(Gates, ActivationsAreAccurate) {
  std::vector<float> points = kExtremes;
  for (float x = -12.0f; x < 12.0f; x += 0.003f) points.push_back(x);
  for (float x = 1e-8f; x < 1e4f; x *= 1.07f) points.insert(points.end(), {x, -x});
  Matrix x(1, static_cast<int64_t>(points.size())), ones(1, x.columns());
  auto next = points.begin();
  x.fill([&] { return *next++; });
  ones.fill([] { return 1.0f; });
  const Matrix& in = x;
  for_each_target([&] {
    for (const Activation kind : kActivations) {
      SCOPED_TRACE(to_string(kind));
      Matrix y(1, x.columns()), dx(1, x.columns());
      activate(kind, {}, in, y, 0, 1, x.columns());
      activate_backward(kind, {}, in, ones, dx, 0, 1, x.columns());
      expect_elements(
          y, {&x}, [&](int64_t r, int64_t c) { return activation(kind, in(r, c)); }, kTolerance, "y");
      expect_elements(
          dx, {&x}, [&](int64_t r, int64_t c) { return slope(kind, in(r, c)); }, kTolerance, "dx");
    }
  });
}

TEST(Gates, NanPropagates) {
  Matrix x(1, 37), y(1, 37), dx(1, 37), ones(1, 37);
  ones.fill([] { return 1.0f; });
  for_each_target([&] {
    for (const Activation kind : kActivations) {
      SCOPED_TRACE(to_string(kind));
      y.fill([] { return 0.0f; });
      activate(kind, {}, x, y, 0, 1, 37);  // x is all NaN
      for (int64_t c = 0; c < 37; ++c) ASSERT_TRUE(std::isnan(y(0, c)));
    }
  });
}

TEST(Gates, ActivateWithDropout) {
  for_each_width([](int64_t columns, std::mt19937& random) {
    for (const Activation kind : kActivations) {
      for (const float rate : {0.0f, 0.4f, 1.0f}) {
        const Dropout dropout{rate, 99};
        const Matrix x = inputs(columns, random), dy = inputs(columns, random), kept = mask(dropout, columns);
        Matrix y(kRows, columns), dx(kRows, columns), again(kRows, columns);
        for (const auto& [begin, end] : {std::pair{0, 3}, std::pair{3, 7}}) {
          activate(kind, dropout, x, y, begin, end, columns);
          activate_backward(kind, dropout, x, dy, dx, begin, end, columns, again);
        }
        expect_elements(
            y, {&x}, [&](int64_t r, int64_t c) { return activation(kind, x(r, c)) * kept(r, c); }, kTolerance,
            "y");
        expect_elements(
            dx, {&x, &dy}, [&](int64_t r, int64_t c) { return dy(r, c) * slope(kind, x(r, c)) * kept(r, c); },
            10 * kTolerance, "dx");
        const Matrix& made = y;
        expect_elements(
            again, {&x}, [&](int64_t r, int64_t c) { return made(r, c); }, kTolerance, "y again");
      }
    }
  });
}

TEST(Gates, Gate) {
  for_each_width([](int64_t columns, std::mt19937& random) {
    const Matrix a = inputs(columns, random), b = inputs(columns, random), dy = inputs(columns, random);
    Matrix y(kRows, columns), da(kRows, columns), db(kRows, columns), again(kRows, columns);
    gate(a, b, y, 0, kRows, columns);
    gate_backward(a, b, dy, da, db, again, 0, kRows, columns);
    const Matrix& made = y;
    expect_elements(
        again, {&a, &b}, [&](int64_t r, int64_t c) { return made(r, c); }, kTolerance, "y again");
    const auto silu = [&](int64_t r, int64_t c) { return activation(Activation::silu, b(r, c)); };
    expect_elements(
        y, {&a, &b}, [&](int64_t r, int64_t c) { return a(r, c) * silu(r, c); }, kTolerance, "y");
    expect_elements(
        da, {&b, &dy}, [&](int64_t r, int64_t c) { return dy(r, c) * silu(r, c); }, kTolerance, "da");
    expect_elements(
        db, {&a, &b, &dy},
        [&](int64_t r, int64_t c) { return dy(r, c) * a(r, c) * slope(Activation::silu, b(r, c)); },
        10 * kTolerance, "db");
  });
}

TEST(Gates, Share) {
  for_each_width([](int64_t columns, std::mt19937& random) {
    const Matrix x = inputs(columns, random);
    Matrix gamma(1, 2 * columns), beta(1, 2 * columns), dq(kRows, columns), dk(kRows, columns);
    for (Matrix* m : {&gamma, &beta, &dq, &dk}) m->randomize(random);
    Matrix q(kRows, columns), k(kRows, columns), dx(kRows, columns), dgamma(1, 2 * columns),
        dbeta(1, 2 * columns);
    dgamma.fill([] { return 0.5f; });  // accumulated into
    dbeta.fill([] { return 0.5f; });
    for (const auto& [begin, end] : {std::pair{0, 4}, std::pair{4, 7}}) {
      share(x, gamma.data(), beta.data(), q, k, begin, end, columns);
      share_backward(x, gamma.data(), dq, dk, dx, dgamma.data(), dbeta.data(), begin, end, columns);
    }
    const Matrix &g = gamma, &b = beta, &to_q = dq, &to_k = dk;
    const auto z = [&](int64_t r, int64_t c) { return activation(Activation::silu, x(r, c)); };
    const auto head = [&](int64_t which) {
      return [&, which](int64_t r, int64_t c) {
        return z(r, c) * g(0, which * columns + c) + b(0, which * columns + c);
      };
    };
    expect_elements(q, {&x}, head(0), kTolerance, "q");
    expect_elements(k, {&x}, head(1), kTolerance, "k");
    expect_elements(
        dx, {&x},
        [&](int64_t r, int64_t c) {
          return (to_q(r, c) * g(0, c) + to_k(r, c) * g(0, columns + c)) * slope(Activation::silu, x(r, c));
        },
        10 * kTolerance, "dx");
    const auto sum = [&](int64_t c, const auto& term) {
      const Matrix& d = c < columns ? to_q : to_k;
      double total = 0.5;
      for (int64_t r = 0; r < kRows; ++r) total += d(r, c % columns) * term(r, c % columns);
      return total;
    };
    expect_matrix(
        dgamma, [&](int64_t, int64_t c) { return sum(c, z); }, kTolerance, "dgamma", 1);
    expect_matrix(
        dbeta, [&](int64_t, int64_t c) { return sum(c, [](int64_t, int64_t) { return 1.0; }); }, kTolerance,
        "dbeta", 1);
  });
}

TEST(Gates, OutputGate) {
  for_each_width([](int64_t columns, std::mt19937& random) {
    for (const Activation kind : {Activation::silu, Activation::gelu, Activation::relu2}) {
      for (const float rate : {0.0f, 0.25f}) {
        const Dropout dropout{rate, 5};
        const Matrix u = inputs(columns, random), h = inputs(columns, random), res = inputs(columns, random),
                     dy = inputs(columns, random), kept = mask(dropout, columns);
        Matrix y(kRows, columns), du(kRows, columns), dh(kRows, columns), dr(kRows, columns);
        // Three rows of a sequence have one factor; none means 1.
        const std::vector<float> factors = {0.0f, 1.25f, 2.0f};
        const bool drops_path = columns % 2 == 0;
        const OutputGate gate{kind, dropout, u, h, res, drops_path ? factors.data() : nullptr, 3};
        const auto path = [&](int64_t r) {
          return drops_path ? static_cast<double>(factors[static_cast<size_t>(r / 3)]) : 1.0;
        };
        for (const auto& [begin, end] : {std::pair{0, 5}, std::pair{5, 7}}) {
          output_gate(gate, y, begin, end, columns);
          output_gate_backward(gate, dy, du, dh, dr, begin, end, columns);
        }
        const auto candidate = [&](int64_t r, int64_t c) {
          return activation(kind, h(r, c)) * kept(r, c) * path(r);
        };
        expect_elements(
            y, {&h, &res},
            [&](int64_t r, int64_t c) {
              return res(r, c) + sigmoid(u(r, c)) * (candidate(r, c) - res(r, c));
            },
            4 * kTolerance, "y");
        expect_elements(
            du, {&h, &res, &dy},
            [&](int64_t r, int64_t c) {
              return dy(r, c) * slope(Activation::sigmoid, u(r, c)) * (candidate(r, c) - res(r, c));
            },
            10 * kTolerance, "du");
        expect_elements(
            dh, {&h, &dy},
            [&](int64_t r, int64_t c) {
              return dy(r, c) * sigmoid(u(r, c)) * slope(kind, h(r, c)) * kept(r, c) * path(r);
            },
            10 * kTolerance, "dh");
        expect_elements(
            dr, {&dy}, [&](int64_t r, int64_t c) { return dy(r, c) * sigmoid(-u(r, c)); }, kTolerance, "dr");
      }
    }
  });
}

// Equal, where the CPU's own conversion to bf16 may take denormal numbers for 0.
bool same(const NarrowMatrix& a, const NarrowMatrix& b, int64_t columns) {
  const auto flushed = [](uint16_t bits) { return (bits & 0x7F80) == 0 ? bits & 0x8000 : bits; };
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      if (flushed(a.data()[r * a.stride() + c]) != flushed(b.data()[r * b.stride() + c])) return false;
  return true;
}

// Exponentials of what is bf16 are exact to 2^-11 of themselves.
constexpr double kShort = 1.0 / 2048;

// Whether x is y, rounded to bf16 and up to what shorter exponentials differ by.
bool close(const NarrowMatrix& x, const Matrix& y) {
  Matrix widened = y;
  x.widen(widened);
  const Matrix& wide = widened;
  double largest = 0.0;
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t c = 0; c < y.columns(); ++c) largest = std::max(largest, std::abs(y(r, c)));
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t c = 0; c < y.columns(); ++c)
      if (!(std::abs(wide(r, c) - y(r, c)) <= std::abs(y(r, c)) / 256 + kShort * largest)) return false;
  return true;
}

// In bf16, the kernels compute in float as well: they give what they give for the same inputs in float, up to
// rounding and shorter exponentials.
TEST(Gates, Bf16IsRoundedFloat) {
  using Bits = uint16_t;
  for_each_width([](int64_t columns, std::mt19937& random) {
    const Dropout dropout{0.4f, 99};
    const Activation kind = Activation::silu;
    const auto exact = [&](Matrix x) {
      NarrowMatrix(x).widen(x);
      return x;
    };
    const Matrix a = exact(inputs(columns, random)), b = exact(inputs(columns, random)),
                 dy = exact(inputs(columns, random));
    const NarrowMatrix na(a), nb(b), ndy(dy);
    Matrix gamma(1, 2 * columns), beta(1, 2 * columns);
    gamma.randomize(random);
    beta.randomize(random);
    const auto empty = [&] { return Matrix(kRows, columns).fill([] { return 0.0f; }); };
    Matrix y1 = empty(), y2 = empty(), y3 = empty();
    NarrowMatrix n1(y1), n2(y1), n3(y1);
    const auto expect = [&](const char* what) {
      EXPECT_TRUE(close(n1, y1) && close(n2, y2)) << what << ", " << columns << " columns";
    };

    activate(kind, dropout, a, y1, 0, kRows, columns);
    activate<Bits>(kind, dropout, na, n1, 0, kRows, columns);
    activate_backward(kind, dropout, a, dy, y2, 0, kRows, columns);
    activate_backward<Bits, Bits>(kind, dropout, na, dy, n2, 0, kRows, columns, n3);
    EXPECT_TRUE(same(n1, n3, columns)) << "y again";
    activate_backward<Bits, float>(kind, dropout, na, dy, y3, 0, kRows, columns);
    expect("activation");
    EXPECT_TRUE(same(n2, NarrowMatrix(y3), columns));
    activate_backward<Bits, Bits, Bits>(kind, dropout, na, ndy, n2, 0, kRows, columns);
    activate_backward<Bits, float, Bits>(kind, dropout, na, ndy, y3, 0, kRows, columns);
    expect("activation with a gradient in bf16");
    EXPECT_TRUE(same(n2, NarrowMatrix(y3), columns));

    gate(a, b, y1, 0, kRows, columns);
    gate<Bits>(na, nb, n1, 0, kRows, columns);
    Matrix again = empty();
    NarrowMatrix narrow_again(again);
    gate_backward(a, b, dy, y2, y3, again, 0, kRows, columns);
    gate_backward<Bits>(na, nb, ndy, n2, n3, narrow_again, 0, kRows, columns);
    EXPECT_TRUE(same(n1, narrow_again, columns));
    expect("gate");
    EXPECT_TRUE(close(n3, y3));

    share(a, gamma.data(), beta.data(), y1, y2, 0, kRows, columns);
    share<Bits>(na, gamma.data(), beta.data(), n1, n2, 0, kRows, columns);
    expect("queries and keys");

    Matrix sums(4, 2 * columns);
    sums.fill([] { return 0.0f; });
    const auto row = [&](int64_t r) { return sums.data() + r * sums.stride(); };
    share_backward(a, gamma.data(), b, dy, y1, row(0), row(1), 0, kRows, columns);
    share_backward<Bits>(na, gamma.data(), b, dy, n1, row(2), row(3), 0, kRows, columns);
    for (int64_t c = 0; c < 2 * columns; ++c) {
      EXPECT_NEAR(row(0)[c], row(2)[c], 0.01f * (1 + std::abs(row(0)[c])));
      EXPECT_EQ(row(1)[c], row(3)[c]) << "of sums without an activation";
    }
    y2 = empty();
    n2 = NarrowMatrix(y2);
    expect("gradients of queries and keys");

    Matrix z1 = empty(), z2 = empty();
    const OutputGate wide{kind, dropout, a, b, dy};
    const OutputGateOf<Bits> narrow{kind, dropout, na, nb, dy};
    output_gate(wide, z1, 0, kRows, columns);
    output_gate<Bits>(narrow, z2, 0, kRows, columns);
    expect_matrix(z2, z1, kShort, "output gate");
    output_gate_backward(wide, a, y1, y2, z1, 0, kRows, columns);
    output_gate_backward<Bits>(narrow, a, n1, n2, z2, 0, kRows, columns);
    expect("gradients of the output gate");
    expect_matrix(z2, z1, kShort, "gradient of the residual");

    Matrix s1(1, columns), s2(1, columns);
    s1.fill([] { return 1.0f; });
    s2.fill([] { return 1.0f; });
    add_column_sums(a, s1.data(), 0, kRows, columns);
    add_column_sums<Bits>(na, s2.data(), 0, kRows, columns);
    expect_matrix(s2, s1, 0.0, "sums");
  });
}

TEST(Gates, ColumnSums) {
  for_each_width([](int64_t columns, std::mt19937& random) {
    Matrix x(kRows, columns), sums(1, columns);
    x.randomize(random);
    sums.fill([] { return 1.0f; });
    add_column_sums(x, sums.data(), 0, 2, columns);
    add_column_sums(x, sums.data(), 2, kRows, columns);
    const Matrix& in = x;
    expect_matrix(
        sums,
        [&](int64_t, int64_t c) {
          double sum = 1;
          for (int64_t r = 0; r < kRows; ++r) sum += in(r, c);
          return sum;
        },
        kTolerance, "sums", 1);
  });
}

}  // namespace
}  // namespace mega::kernels
