// The scan kernels against plain loops in double, on every instruction set this CPU has.
#include "mega/kernels/ema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using Floats = std::vector<float>;
using mega::testing::for_each_target;
using mega::testing::sigmoid;

// One sequence and its coefficients, for all groups of channels.
struct Case {
  int64_t length, width, n;
  int64_t truncation = 0;
  bool reverse = false, padded = false, weighted = false;
  Floats x, g, q, c, b;  // (L, D), (L, D), (D, N) ...
  std::vector<uint8_t> padding;

  Case(int64_t length_, int64_t width_, int64_t n_, std::mt19937& random)
      : length(length_), width(width_), n(n_) {
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> uniform;
    x.resize(size_t(length * width));
    g.resize(x.size());
    q.resize(size_t(width * n));
    c.resize(q.size());
    b.resize(q.size());
    for (float& v : x) v = normal(random);
    for (float& v : g) v = normal(random);
    for (float& v : q) v = 1.0f - std::pow(uniform(random), 3.0f);  // many slow decays
    for (float& v : c) v = normal(random);
    for (float& v : b) v = normal(random);
    padding.resize(size_t(length));
    for (uint8_t& v : padding) v = uniform(random) < 0.3f;
  }

  int64_t position(int64_t tau) const { return reverse ? length - 1 - tau : tau; }
  double input(int64_t tau, int64_t channel) const {
    if (tau < 0 || (padded && padding[size_t(position(tau))])) return 0.0;
    return double(x[size_t(position(tau) * width + channel)]);
  }
};

struct Packed {
  Floats q, c, b, cut, cut_slope;

  explicit Packed(const Case& k) {
    q = pack(k, k.q);
    c = pack(k, k.c);
    b = pack(k, k.b);
    Floats power(k.q.size()), slope(k.q.size());
    for (size_t i = 0; i < power.size(); ++i) {
      power[i] = float(std::pow(double(k.q[i]), double(k.truncation)));
      slope[i] = float(double(k.truncation) * std::pow(double(k.q[i]), double(k.truncation - 1)));
    }
    cut = pack(k, power);
    cut_slope = pack(k, slope);
  }

  static Floats pack(const Case& k, const Floats& rows) {
    Floats packed(size_t(ema_groups(k.width) * k.n * kEmaLanes));
    ema_pack(rows.data(), k.width, k.n, packed.data());
    return packed;
  }

  EmaWeights weights(const Case& k, int64_t group) const {
    const int64_t at = group * k.n * kEmaLanes;
    EmaWeights w;
    w.n = k.n;
    w.decay = q.data() + at;
    w.output = c.data() + at;
    w.input = k.weighted ? b.data() + at : nullptr;
    w.truncation = k.truncation;
    w.cut = cut.data() + at;
    w.cut_slope = cut_slope.data() + at;
    return w;
  }
};

EmaRows rows(const Case& k, int64_t group) {
  return {k.x.data() + group * kEmaLanes, k.width, k.length, std::min(kEmaLanes, k.width - group * kEmaLanes),
          k.padded ? k.padding.data() : nullptr};
}

// Relative to the largest expected value, or to `scale` if that is larger.
void expect_close(const std::vector<double>& expected, const Floats& actual, double tolerance,
                  const char* what, double scale = 1) {
  ASSERT_EQ(expected.size(), actual.size());
  double worst = 0;
  for (double v : expected) scale = std::max(scale, std::abs(v));
  for (size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(expected[i] - double(actual[i])));
  EXPECT_LE(worst, tolerance * scale) << what;
}

void check_scan(const Case& k, int64_t split) {
  const float start = k.truncation > 0 ? 0.0f : 0.5f;
  std::vector<double> y(k.x.size()), last(k.q.size());
  for (int64_t channel = 0; channel < k.width; ++channel) {
    std::vector<double> e(size_t(k.n), double(start));
    for (int64_t tau = 0; tau < k.length; ++tau) {
      double s = 0;
      for (int64_t i = 0; i < k.n; ++i) {
        const size_t at = size_t(channel * k.n + i);
        const double q = double(k.q[at]);
        double u = k.input(tau, channel) * (k.weighted ? double(k.b[at]) : 1.0);
        if (k.truncation > 0) u -= std::pow(q, k.truncation) * k.input(tau - k.truncation, channel);
        e[size_t(i)] = q * e[size_t(i)] + u;
        s += double(k.c[at]) * e[size_t(i)];
      }
      y[size_t(k.position(tau) * k.width + channel)] = s;
    }
    for (int64_t i = 0; i < k.n; ++i) last[size_t(channel * k.n + i)] = e[size_t(i)];
  }

  const Packed packed(k);
  Floats actual(y.size()), state(packed.q.size(), start), final_state(last.size());
  for (int64_t group = 0; group < ema_groups(k.width); ++group) {
    EmaOutput output;
    output.data = actual.data() + group * kEmaLanes;
    output.stride = k.width;
    float* e = state.data() + group * k.n * kEmaLanes;
    ema_scan(rows(k, group), packed.weights(k, group), {0, split, k.reverse}, e, &output);
    ema_scan(rows(k, group), packed.weights(k, group), {split, k.length, k.reverse}, e, &output);
  }
  ema_unpack(state.data(), k.width, k.n, final_state.data());
  expect_close(y, actual, 1e-5, "scan");
  expect_close(last, final_state, 1e-5, "state");
}

void check_slope(const Case& k, int64_t split) {
  const size_t count = k.q.size();
  std::vector<double> sum_e(count), sum_de(count), last(count), last_slope(count);
  for (int64_t channel = 0; channel < k.width; ++channel) {
    for (int64_t i = 0; i < k.n; ++i) {
      const size_t at = size_t(channel * k.n + i);
      const double q = double(k.q[at]), length = double(k.truncation);
      double e = 0, de = 0;
      for (int64_t tau = 0; tau < k.length; ++tau) {
        de = q * de + e;
        e = q * e + k.input(tau, channel);
        if (k.truncation > 0) {
          de -= length * std::pow(q, length - 1) * k.input(tau - k.truncation, channel);
          e -= std::pow(q, length) * k.input(tau - k.truncation, channel);
        }
        const double g = double(k.g[size_t(k.position(tau) * k.width + channel)]);
        sum_e[at] += g * e;
        sum_de[at] += g * de;
      }
      last[at] = e;
      last_slope[at] = de;
    }
  }

  const Packed packed(k);
  const size_t group_size = size_t(k.n * kEmaLanes);
  Floats state(packed.q.size()), slope(packed.q.size()), total_e(packed.q.size()), total_de(packed.q.size());
  for (int64_t group = 0; group < ema_groups(k.width); ++group) {
    const EmaRows x = rows(k, group);
    Floats g(size_t(k.length * kEmaLanes)), sums(2 * group_size);
    EmaRows unpadded = x;
    unpadded.padding = nullptr;
    ema_output_gradient(unpadded, k.g.data() + group * kEmaLanes, nullptr, 0, k.length, g.data(), nullptr);
    const size_t at = size_t(group) * group_size;
    for (const EmaTime& time : {EmaTime{0, split, k.reverse}, EmaTime{split, k.length, k.reverse}})
      ema_slope(x, packed.weights(k, group), time, &state[at], &slope[at], g.data(), sums.data());
    std::copy_n(sums.begin(), group_size, total_e.begin() + int64_t(at));
    std::copy_n(sums.begin() + int64_t(group_size), group_size, total_de.begin() + int64_t(at));
  }
  Floats rows_of(count);
  const auto compare = [&](const std::vector<double>& expected, const Floats& packed_values,
                           const char* what) {
    ema_unpack(packed_values.data(), k.width, k.n, rows_of.data());
    expect_close(expected, rows_of, 2e-5, what, double(k.length));
  };
  compare(last, state, "state");
  compare(last_slope, slope, "slope");
  compare(sum_e, total_e, "sum of g E");
  compare(sum_de, total_de, "sum of g dE/dq");
}

TEST(EmaKernel, AgreesWithLoops) {
  for_each_target([] {
    std::mt19937 random(7);
    for (int64_t n = 1; n <= 17; ++n) {
      for (int64_t length : {1, 2, 63, 64, 65, 200}) {
        const int64_t width = 1 + int64_t(random() % 40);
        Case k(length, width, n, random);
        k.reverse = random() % 2;
        k.padded = random() % 2;
        const int64_t split = int64_t(random() % uint64_t(length + 1));
        for (int64_t truncation : {int64_t{0}, int64_t{1}, length / 2 + 1, length, length + 5}) {
          k.truncation = truncation;
          check_scan(k, split);
          check_slope(k, split);
        }
        k.truncation = 0;
        k.weighted = true;
        check_scan(k, split);
      }
    }
  });
}

TEST(EmaKernel, OutputStepsApplyInOrder) {
  for_each_target([] {
    std::mt19937 random(3);
    for (int64_t width : {5, 16, 37}) {
      Case k(90, width, 3, random);
      const Packed packed(k);
      Floats skip(static_cast<size_t>(width));
      for (float& v : skip) v = std::normal_distribution<float>()(random);
      Floats plain(k.x.size()), y(k.x.size(), 0.25f), linear(k.x.size());
      for (int64_t group = 0; group < ema_groups(width); ++group) {
        const int64_t at = group * kEmaLanes;
        EmaOutput output;
        output.stride = width;
        output.data = plain.data() + at;
        Floats state(size_t(k.n * kEmaLanes));
        ema_scan(rows(k, group), packed.weights(k, group), {0, k.length, false}, state.data(), &output);
        output = {y.data() + at, width, true, k.padding.data(), skip.data() + at, true, linear.data() + at};
        std::fill(state.begin(), state.end(), 0.0f);
        ema_scan(rows(k, group), packed.weights(k, group), {0, k.length, false}, state.data(), &output);
      }
      std::vector<double> expected(y.size()), expected_linear(y.size());
      for (size_t i = 0; i < y.size(); ++i) {
        const double s = k.padding[i / size_t(width)] ? 0.0 : double(plain[i]) + 0.25;
        expected_linear[i] = s + double(skip[i % size_t(width)]) * double(k.x[i]);
        expected[i] = expected_linear[i] * sigmoid(expected_linear[i]);
      }
      expect_close(expected_linear, linear, 1e-6, "linear");
      expect_close(expected, y, 1e-6, "silu");
    }
  });
}

TEST(EmaKernel, OutputGradient) {
  for_each_target([] {
    std::mt19937 random(5);
    for (int64_t width : {3, 16, 20}) {
      Case k(70, width, 1, random);
      Floats linear(k.x.size());
      for (float& v : linear) v = 3.0f * std::normal_distribution<float>()(random);
      linear[0] = 1e4f;
      linear[1] = -1e4f;
      std::vector<double> expected(k.x.size()), expected_skip(static_cast<size_t>(width));
      for (size_t i = 0; i < linear.size(); ++i) {
        const double s = double(linear[i]), sigma = sigmoid(s);
        expected[i] = double(k.g[i]) * sigma * (1 + s * (1 - sigma));
        expected_skip[i % size_t(width)] += expected[i] * double(k.x[i]);
      }
      Floats actual(k.x.size()), dskip(size_t(ema_groups(width) * kEmaLanes));
      for (int64_t group = 0; group < ema_groups(width); ++group) {
        const int64_t at = group * kEmaLanes;
        const EmaRows x = rows(k, group);
        Floats g(size_t(k.length * kEmaLanes));
        for (const auto& [begin, end] : {std::pair{0, 30}, std::pair{30, 70}})
          ema_output_gradient(x, k.g.data() + at, linear.data() + at, begin, end, g.data(),
                              dskip.data() + at);
        for (int64_t t = 0; t < k.length; ++t)
          for (int64_t i = 0; i < kEmaLanes; ++i) {
            const float value = g[size_t(t * kEmaLanes + i)];
            if (i < x.lanes) {
              actual[size_t(t * width + at + i)] = value;
            } else {
              EXPECT_EQ(value, 0.0f);
            }
          }
      }
      dskip.resize(size_t(width));
      expect_close(expected, actual, 1e-6, "g");
      expect_close(expected_skip, dskip, 1e-6, "dskip");
    }
  });
}

TEST(EmaKernel, StepsEqualTheScan) {
  for_each_target([] {
    std::mt19937 random(11);
    for (int64_t n : {1, 2, 3, 4, 5, 8, 16, 17, 21}) {
      Case k(20, 19, n, random);
      k.weighted = k.padded = true;
      const Packed packed(k);
      Floats skip(size_t(k.width), 0.5f), y(k.x.size()), state(k.q.size()), stepped(k.x.size());
      for (int64_t group = 0; group < ema_groups(k.width); ++group) {
        const int64_t at = group * kEmaLanes;
        Floats e(size_t(n * kEmaLanes));
        const EmaOutput output{y.data() + at, k.width, false, nullptr, skip.data() + at, true, nullptr};
        ema_scan(rows(k, group), packed.weights(k, group), {0, k.length, false}, e.data(), &output);
      }
      EmaStep step{n, k.q.data(), k.b.data(), k.c.data(), skip.data(), true, false};
      for (int64_t t = 0; t < k.length; ++t) {
        step.padded = k.padding[size_t(t)];
        const size_t at = size_t(t * k.width);
        for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 7}, {7, k.width}})
          ema_step(step, begin, end, &k.x[at], state.data(), state.data(), &stepped[at]);
      }
      expect_close({y.begin(), y.end()}, stepped, 2e-6, "step");
    }
  });
}

TEST(EmaKernel, NothingOverflows) {
  for_each_target([] {
    Floats x(16 * 300, 1e4f), y(x.size()), q(kEmaLanes, 1.0f), c(kEmaLanes, -1.0f), state(kEmaLanes);
    EmaWeights weights;
    weights.n = 1;
    weights.decay = q.data();
    weights.output = c.data();
    const EmaOutput output{y.data(), 16, false, nullptr, nullptr, true, nullptr};
    ema_scan({x.data(), 16, 300, 16, nullptr}, weights, {0, 300, false}, state.data(), &output);
    for (float v : y) EXPECT_LE(std::abs(v), 1e-6f);
    c.assign(kEmaLanes, 1.0f);
    state.assign(kEmaLanes, 0.0f);
    ema_scan({x.data(), 16, 300, 16, nullptr}, weights, {0, 300, false}, state.data(), &output);
    EXPECT_EQ(y.back(), 300 * 1e4f);
  });
}

}  // namespace
}  // namespace mega::kernels
