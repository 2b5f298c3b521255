// The EMA's forms against each other: recurrence (the definition), convolution, fused.
#include "mega/ops/ema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/ops/form.h"
#include "tests/gradcheck.h"

namespace mega::ops {
namespace {

using torch::Tensor;

struct Shape {
  int64_t batch, length, width, n;
};

struct Case {
  Shape shape;
  EmaSettings settings;
  bool masked = false, skip = true, stateful = false;
};

// Random inputs of a case; leaves of the autograd graph.
struct Leaves {
  Tensor x, q, b, c, omega, state, mask;

  Leaves(const Case& k, torch::Dtype dtype) {
    const auto [batch, length, width, n] = k.shape;
    const int64_t rows = k.settings.bidirectional ? 2 * width : width;
    // Values that float can represent, so that both dtypes compute the same thing.
    const auto leaf = [&](const Tensor& t) { return t.to(dtype).requires_grad_(); };
    x = leaf(torch::randn({batch, length, width}));
    q = leaf(1 - torch::rand({rows, n}).pow(2) * 0.9);
    b = leaf(torch::randn({rows, n}));
    c = leaf(torch::randn({rows, n}));
    if (k.skip) omega = leaf(torch::randn({width}));
    if (k.stateful) state = leaf(torch::randn({batch, width, n}));
    if (k.masked) mask = torch::rand({batch, length}) < 0.3;
  }

  Leaves(const Leaves& other, torch::Dtype dtype) : mask(other.mask) {
    const auto copy = [&](const Tensor& t) {
      return t.defined() ? t.detach().to(dtype).requires_grad_() : t;
    };
    x = copy(other.x);
    q = copy(other.q);
    b = copy(other.b);
    c = copy(other.c);
    omega = copy(other.omega);
    state = copy(other.state);
  }

  std::vector<Tensor> differentiable() const {
    std::vector<Tensor> all{x, q, b, c};
    for (const Tensor& t : {omega, state})
      if (t.defined()) all.push_back(t);
    return all;
  }

  // y, and the state after x if there is one.
  std::vector<Tensor> run(const EmaSettings& settings) const {
    Tensor after = state;
    std::vector<Tensor> out{ema(x, {q, b, c}, omega, mask, settings, state.defined() ? &after : nullptr)};
    if (state.defined()) out.push_back(after);
    return out;
  }
};

// Relative to the largest expected value, or to `least` if that is larger: some gradients are analytically
// zero.
void expect_close(const Tensor& expected, const Tensor& actual, double tolerance, const std::string& what,
                  double least = 1.0) {
  ASSERT_EQ(expected.sizes(), actual.sizes()) << what;
  const Tensor reference = expected.detach().to(torch::kDouble);
  const double scale = std::max(least, reference.abs().max().item<double>());
  const double difference = (reference - actual.detach().to(torch::kDouble)).abs().max().item<double>();
  EXPECT_LE(difference, tolerance * scale) << what;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Shape& shape :
       {Shape{2, 33, 5, 1}, Shape{1, 1, 3, 2}, Shape{3, 70, 16, 16}, Shape{2, 129, 35, 5}})
    for (bool bidirectional : {false, true})
      for (int64_t truncation : {0, 1, 20, 500})
        for (int variant = 0; variant < 4; ++variant) {
          Case k{shape, {bidirectional, truncation, variant % 2 == 0, 0}};
          k.masked = variant >= 2;
          k.skip = variant != 1;
          all.push_back(k);
          k.stateful = true;
          if (!bidirectional) all.push_back(k);
          k.stateful = false;
          k.settings.shift = true;
          if (bidirectional) all.push_back(k);
        }
  return all;
}

std::string name(const Case& k) {
  return c10::str("B ", k.shape.batch, " L ", k.shape.length, " D ", k.shape.width, " N ", k.shape.n,
                  k.settings.bidirectional ? " bidirectional" : "", k.settings.shift ? " shifted" : "", " T ",
                  k.settings.truncation, k.masked ? " masked" : "", k.stateful ? " stateful" : "",
                  k.skip ? "" : " no skip", k.settings.activated ? "" : " linear", " pieces ",
                  k.settings.pieces);
}

TEST(EmaOp, ConvolutionEqualsRecurrence) {
  torch::manual_seed(1);
  for (const Case& k : cases()) {
    SCOPED_TRACE(name(k));
    const Leaves leaves(k, torch::kDouble);
    const EmaCoefficients coefficients{leaves.q, leaves.b, leaves.c};
    const EmaSums step = ema_recurrence(leaves.x, coefficients, k.settings, leaves.state);
    const EmaSums fft = ema_convolution(leaves.x, coefficients, k.settings, leaves.state);
    expect_close(step.sums, fft.sums, 1e-10, "sums");
    if (k.stateful) expect_close(step.state, fft.state, 1e-10, "state");
  }
}

// The definition: s_t = sum_l k_l x_{t-l} + sum_l k'_l x_{t+1+l}.
TEST(EmaOp, ShiftedSumsCountThePresentOnce) {
  torch::manual_seed(8);
  for (const int64_t truncation : {0, 3}) {
    const Case k{{1, 9, 2, 3}, {true, truncation, false, 0, true}, false, false};
    const Leaves leaves(k, torch::kDouble);
    const int64_t length = k.shape.length, width = k.shape.width;
    const int64_t lags = truncation > 0 ? truncation : length;
    const Tensor kernel =
        ((leaves.b * leaves.c).unsqueeze(2) * leaves.q.unsqueeze(2).pow(torch::arange(lags, torch::kDouble)))
            .sum(1);  // (2 D, lags)
    Tensor expected = torch::zeros({1, length, width}, torch::kDouble);
    for (int64_t t = 0; t < length; ++t)
      for (int64_t lag = 0; lag < lags; ++lag) {
        if (t - lag >= 0)
          expected.select(1, t) +=
              kernel.narrow(0, 0, width).select(1, lag) * leaves.x.detach().select(1, t - lag);
        if (t + 1 + lag < length)
          expected.select(1, t) +=
              kernel.narrow(0, width, width).select(1, lag) * leaves.x.detach().select(1, t + 1 + lag);
      }
    expect_close(expected, leaves.run(k.settings)[0], 1e-10, c10::str("truncation ", truncation));
  }
}

TEST(EmaOp, ReferenceGradients) {
  torch::manual_seed(2);
  for (bool bidirectional : {false, true})
    for (bool stateful : {false, true}) {
      if (bidirectional && stateful) continue;
      Case k{{2, 7, 3, 2}, {bidirectional, stateful ? 0 : 4, true, 0}, true, true, stateful};
      for (const bool shift : {false, true}) {
        k.settings.shift = shift;
        SCOPED_TRACE(name(k));
        const Leaves leaves(k, torch::kDouble);
        check_gradients([&] { return leaves.run(k.settings); }, leaves.differentiable());
      }
    }
}

// Values and all gradients of the fused form in float against the reference in double.
void check_fused(const Case& k) {
  SCOPED_TRACE(name(k));
  const Leaves exact(k, torch::kDouble), leaves(exact, torch::kFloat);
  const std::vector<Tensor> expected = exact.run(k.settings);
  const FormGuard fused(Form::fused);
  const std::vector<Tensor> actual = leaves.run(k.settings);
  std::vector<Tensor> cotangents, float_cotangents;
  for (size_t i = 0; i < expected.size(); ++i) {
    expect_close(expected[i], actual[i], 2e-6, "output");
    cotangents.push_back(torch::randn_like(actual[i]).to(torch::kDouble));
    float_cotangents.push_back(cotangents.back().to(torch::kFloat));
  }
  const auto d_expected = torch::autograd::grad(expected, exact.differentiable(), cotangents);
  const auto d_actual = torch::autograd::grad(actual, leaves.differentiable(), float_cotangents);
  const char* names[] = {"dx", "dq", "db", "dc", "domega or dstate", "dstate"};
  const double least = std::sqrt(static_cast<double>(k.shape.batch * k.shape.length));
  for (size_t i = 0; i < d_expected.size(); ++i)
    expect_close(d_expected[i], d_actual[i], 2e-5, names[i], least);
}

TEST(EmaOp, FusedEqualsReference) {
  torch::manual_seed(3);
  for (const Case& k : cases()) check_fused(k);
}

TEST(EmaOp, TimePiecesEqualTheWhole) {
  torch::manual_seed(4);
  for (Case k : cases())
    for (int64_t pieces : {2, 3, 7}) {
      k.settings.pieces = pieces;
      check_fused(k);
    }
}

TEST(EmaOp, SegmentsEqualTheWhole) {
  torch::manual_seed(5);
  for (Form form : {Form::reference, Form::fused}) {
    const FormGuard guard(form);
    const Case k{{2, 50, 19, 4}, {}, true, true, false};
    const Leaves leaves(k, torch::kFloat);
    const EmaCoefficients coefficients{leaves.q, leaves.b, leaves.c};
    const Tensor whole = ema(leaves.x, coefficients, leaves.omega, leaves.mask, k.settings);
    Tensor state;
    std::vector<Tensor> parts;
    for (const auto& [begin, end] : {std::pair{0, 20}, {20, 21}, {21, 22}, {22, 50}}) {
      const auto part = [b = begin, e = end](const Tensor& t) { return t.narrow(1, b, e - b); };
      parts.push_back(ema(part(leaves.x), coefficients, leaves.omega, part(leaves.mask), k.settings, &state));
    }
    const Tensor joined = torch::cat(parts, 1), cotangent = torch::randn_like(whole);
    expect_close(whole, joined, 2e-6, "segments");
    const auto expected = torch::autograd::grad({whole}, leaves.differentiable(), {cotangent});
    const auto actual = torch::autograd::grad({joined}, leaves.differentiable(), {cotangent});
    for (size_t i = 0; i < expected.size(); ++i) expect_close(expected[i], actual[i], 1e-5, "gradient");

    // Without gradients, single tokens use a separate code path.
    const torch::NoGradGuard no_grad;
    Tensor stepped;
    parts.clear();
    for (int64_t t = 0; t < 50; ++t)
      parts.push_back(ema(leaves.x.narrow(1, t, 1), coefficients, leaves.omega, leaves.mask.narrow(1, t, 1),
                          k.settings, &stepped));
    expect_close(whole, torch::cat(parts, 1), 2e-6, "steps");
    expect_close(state, stepped, 2e-6, "state after steps");
  }
}

TEST(EmaOp, SlowDecayStaysCloseToDouble) {
  torch::manual_seed(6);
  for (int64_t truncation : {0, 64, 4096}) {
    Case k{{1, 20000, 4, 3}, {true, truncation, false, 0}, false, false, false};
    const Leaves exact(k, torch::kDouble);
    {
      const torch::NoGradGuard no_grad;
      exact.q.copy_((1 - torch::logspace(-9, -2, exact.q.numel(), 10.0, torch::kDouble)).view_as(exact.q));
      exact.q.copy_(exact.q.to(torch::kFloat));  // some are now exactly 1
      EXPECT_EQ(exact.q.max().item<double>(), 1.0);
    }
    const Leaves leaves(exact, torch::kFloat);
    const Tensor expected = exact.run(k.settings)[0];
    const FormGuard fused(Form::fused);
    const Tensor actual = leaves.run(k.settings)[0];
    expect_close(expected, actual, 1e-4, c10::str("output, truncation ", truncation));
    const Tensor cotangent = torch::randn_like(expected);
    const auto d_expected = torch::autograd::grad({expected}, exact.differentiable(), {cotangent});
    const auto d_actual =
        torch::autograd::grad({actual}, leaves.differentiable(), {cotangent.to(torch::kFloat)});
    for (size_t i = 0; i < d_expected.size(); ++i)
      expect_close(d_expected[i], d_actual[i], 2e-4, c10::str("gradient ", i, ", truncation ", truncation));
  }
}

TEST(EmaOp, SameBitsEveryTime) {
  torch::manual_seed(7);
  const Case k{{3, 200, 40, 16}, {true, 0, true, 0}, true};
  const Leaves leaves(k, torch::kFloat);
  std::vector<Tensor> first;
  for (int i = 0; i < 3; ++i) {
    const Tensor y = leaves.run(k.settings)[0];
    std::vector<Tensor> all = torch::autograd::grad({y}, leaves.differentiable(), {torch::ones_like(y)});
    all.push_back(y);
    if (first.empty()) first = all;
    for (size_t j = 0; j < all.size(); ++j) EXPECT_TRUE(torch::equal(first[j], all[j]));
  }
}

TEST(EmaOp, AcceptsAnyInputLayout) {
  const Case k{{2, 30, 20, 3}, {}};
  const Leaves leaves(k, torch::kFloat);
  const EmaCoefficients coefficients{leaves.q, leaves.b, leaves.c};
  const Tensor strided = leaves.x.detach().transpose(0, 1).contiguous().transpose(0, 1);
  EXPECT_FALSE(strided.is_contiguous());
  EXPECT_TRUE(torch::equal(ema(leaves.x, coefficients, leaves.omega, {}, k.settings),
                           ema(strided, coefficients, leaves.omega, {}, k.settings)));
}

TEST(EmaOp, RejectsInvalidInputs) {
  const Case k{{2, 8, 4, 2}, {}};
  const Leaves leaves(k, torch::kFloat);
  const EmaCoefficients good{leaves.q, leaves.b, leaves.c};
  const auto run = [&](const Tensor& x, const EmaCoefficients& coefficients, const Tensor& mask,
                       EmaSettings settings = {}, Tensor* state = nullptr) {
    return ema(x, coefficients, leaves.omega, mask, settings, state);
  };
  EXPECT_THROW(run(leaves.x[0], good, {}), Error);
  EXPECT_THROW(run(leaves.x.to(torch::kDouble), good, {}), Error);
  EXPECT_THROW(run(leaves.x, {leaves.q, leaves.b, leaves.c.narrow(1, 0, 1)}, {}), Error);
  EXPECT_THROW(run(leaves.x, good, torch::zeros({2, 9}, torch::kBool)), Error);
  EXPECT_THROW(run(leaves.x, good, torch::zeros({2, 8})), Error);
  EXPECT_THROW(run(leaves.x, good, {}, {true, 0, true, 0}), Error);
  EXPECT_THROW(run(leaves.x, good, {}, {false, -1, true, 0}), Error);
  Tensor state = torch::zeros({2, 4, 3});
  EXPECT_THROW(run(leaves.x, good, {}, {}, &state), Error);
  const EmaCoefficients both{leaves.q.repeat({2, 1}), leaves.b.repeat({2, 1}), leaves.c.repeat({2, 1})};
  state = Tensor();
  EXPECT_THROW(run(leaves.x, both, {}, {true, 0, true, 0}, &state), Error);
  const Tensor y = run(leaves.x, good, {});
  EXPECT_THROW(torch::autograd::grad({y.sum()}, {leaves.x}, {}, true, /*create_graph=*/true), Error);
}

}  // namespace
}  // namespace mega::ops
