// The EMA module against the paper's equations.
#include "mega/nn/ema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "mega/base/error.h"
#include "mega/ops/form.h"
#include "tests/gradcheck.h"

namespace mega::nn {
namespace {

using torch::Tensor;

// Only what the paper has: no 1/sqrt(N), no skip, no SiLU.
EmaOptions paper(EmaKind kind, int64_t dimension) {
  EmaOptions options;
  options.kind = kind;
  options.dimension = dimension;
  options.bidirectional = options.scaled = options.skip = options.activated = false;
  return options;
}

Tensor row(const Tensor& logits) { return torch::sigmoid(logits).flatten(); }

double distance(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

std::map<std::string, std::vector<int64_t>> shapes(const Ema& ema) {
  std::map<std::string, std::vector<int64_t>> all;
  for (const auto& item : ema->named_parameters()) all[item.key()] = item.value().sizes().vec();
  return all;
}

TEST(Ema, PlainMatchesEquation2) {
  const torch::NoGradGuard no_grad;
  Ema ema(5, paper(EmaKind::plain, 1));
  EXPECT_EQ(shapes(ema), (std::map<std::string, std::vector<int64_t>>{{"delta", {5, 1, 1}}}));
  const Tensor x = torch::randn({2, 30, 5}), alpha = row(ema->delta), actual = ema->forward(x);
  Tensor y = torch::zeros({2, 5});
  for (int64_t t = 0; t < 30; ++t) {
    y = alpha * x.select(1, t) + (1 - alpha) * y;
    EXPECT_LT(distance(y, actual.select(1, t)), 1e-6);
  }
}

TEST(Ema, DampedMatchesEquation3) {
  const torch::NoGradGuard no_grad;
  Ema ema(5, paper(EmaKind::damped, 1));
  EXPECT_EQ(shapes(ema),
            (std::map<std::string, std::vector<int64_t>>{{"alpha", {5, 1, 1}}, {"delta", {5, 1, 1}}}));
  const Tensor x = torch::randn({2, 30, 5}), alpha = row(ema->delta), delta = row(ema->alpha);
  const Tensor actual = ema->forward(x);
  Tensor y = torch::zeros({2, 5});
  for (int64_t t = 0; t < 30; ++t) {
    y = alpha * x.select(1, t) + (1 - alpha * delta) * y;
    EXPECT_LT(distance(y, actual.select(1, t)), 1e-6);
  }
}

TEST(Ema, MultidimensionalMatchesEquations4And5) {
  const torch::NoGradGuard no_grad;
  Ema ema(5, paper(EmaKind::multidimensional, 3));
  const Tensor x = torch::randn({2, 30, 5}), actual = ema->forward(x);
  const Tensor alpha = torch::sigmoid(ema->delta).squeeze(-1), delta = torch::sigmoid(ema->alpha).squeeze(-1);
  Tensor h = torch::zeros({2, 5, 3});
  for (int64_t t = 0; t < 30; ++t) {
    const Tensor u = ema->beta.squeeze(-1) * x.select(1, t).unsqueeze(-1);
    h = alpha * u + (1 - alpha * delta) * h;
    EXPECT_LT(distance((ema->gamma * h).sum(-1), actual.select(1, t)), 1e-5);
  }
}

TEST(Ema, ExtrasMatchTheReleasedImplementation) {
  const torch::NoGradGuard no_grad;
  EmaOptions options = paper(EmaKind::multidimensional, 4);
  Ema bare(6, options);
  options.scaled = options.skip = options.activated = true;
  Ema full(6, options);
  for (const auto& item : bare->named_parameters()) full->named_parameters()[item.key()].copy_(item.value());
  const Tensor x = torch::randn({2, 20, 6});
  const Tensor expected = torch::silu(bare->forward(x) / std::sqrt(4.0) + full->omega * x);
  EXPECT_LT(distance(expected, full->forward(x)), 1e-6);
}

TEST(Ema, BothDirectionsIncludeTheCurrentToken) {
  const torch::NoGradGuard no_grad;
  EmaOptions options = paper(EmaKind::multidimensional, 4);
  options.bidirectional = true;
  Ema ema(3, options);
  const Tensor x = torch::randn({1, 1, 3});
  const auto [q, b, c] = ema->coefficients();
  const Tensor weight = (b * c).sum(-1);
  EXPECT_LT(distance(x * (weight.narrow(0, 0, 3) + weight.narrow(0, 3, 3)), ema->forward(x)), 1e-6);
}

TEST(Ema, TheReleaseForImagesCountsTheCurrentTokenOnce) {
  const torch::NoGradGuard no_grad;
  EmaOptions options = paper(EmaKind::multidimensional, 4);
  options.bidirectional = options.shift = true;
  Ema ema(3, options);
  const Tensor x = torch::randn({1, 1, 3});
  const auto [q, b, c] = ema->coefficients();
  EXPECT_LT(distance(x * (b * c).sum(-1).narrow(0, 0, 3), ema->forward(x)), 1e-6);
}

TEST(Ema, ExchangedNamesAreThoseOfThePaper) {
  const torch::NoGradGuard no_grad;
  const Tensor x = torch::randn({2, 20, 5});
  for (const EmaKind kind : {EmaKind::damped, EmaKind::multidimensional}) {
    EmaOptions options;
    options.kind = kind;
    Ema released(5, options);
    options.exchanged = true;
    Ema exchanged(5, options);
    EXPECT_EQ(shapes(released), shapes(exchanged));
    for (const auto& item : released->named_parameters()) {
      const std::string name = item.key() == "alpha" ? "delta" : item.key() == "delta" ? "alpha" : item.key();
      exchanged->named_parameters()[name].copy_(item.value());
    }
    EXPECT_TRUE(released->forward(x).equal(exchanged->forward(x)));
    released->alpha.add_(1.0);
    EXPECT_GT(distance(released->forward(x), exchanged->forward(x)), 1e-4);
  }
  EmaOptions plain;
  plain.kind = EmaKind::plain;
  plain.exchanged = true;
  EXPECT_EQ(shapes(Ema(5, plain)).count("delta"), 1u) << "it has no other";
}

TEST(Ema, ParametersHaveTheReleasedNamesAndInitialisation) {
  torch::manual_seed(1);
  Ema ema(500, EmaOptions());
  const std::map<std::string, std::vector<int64_t>> expected{{"alpha", {1000, 16, 1}},
                                                             {"beta", {1000, 16, 1}},
                                                             {"delta", {1000, 16, 1}},
                                                             {"gamma", {1000, 16}},
                                                             {"omega", {500}}};
  EXPECT_EQ(shapes(ema), expected);
  const auto spread = [](const Tensor& t) { return t.std().item<double>(); };
  EXPECT_NEAR(spread(ema->delta), 0.2, 0.01);
  EXPECT_NEAR(spread(ema->alpha), 0.2, 0.01);
  EXPECT_NEAR(spread(ema->gamma), 1.0, 0.05);
  EXPECT_NEAR(spread(ema->omega), 1.0, 0.1);
  EXPECT_NEAR(ema->beta.slice(1, 0, 16, 2).mean().item<double>(), 1.0, 0.01);
  EXPECT_NEAR(ema->beta.slice(1, 1, 16, 2).mean().item<double>(), -1.0, 0.01);
  EXPECT_NEAR(spread(ema->beta.slice(1, 1, 16, 2)), 0.02, 0.002);
}

TEST(Ema, GradientsOfParameters) {
  for (EmaKind kind : {EmaKind::plain, EmaKind::damped, EmaKind::multidimensional, EmaKind::complex}) {
    EmaOptions options;
    options.kind = kind;
    options.dimension = 3;
    Ema ema(4, options);
    ema->to(torch::kDouble);
    std::vector<Tensor> inputs = ema->parameters();
    inputs.push_back(torch::randn({2, 6, 4}, torch::kDouble).requires_grad_());
    const Tensor mask = torch::rand({2, 6}) < 0.3;
    check_gradients([&] { return std::vector<Tensor>{ema->forward(inputs.back(), mask)}; }, inputs);

    // The fused form in float.
    const Tensor y = ema->forward(inputs.back(), mask), cotangent = torch::randn_like(y);
    const auto expected = torch::autograd::grad({y}, inputs, {cotangent});
    ema->to(torch::kFloat);
    std::vector<Tensor> floats = ema->parameters();
    floats.push_back(inputs.back().detach().to(torch::kFloat).requires_grad_());
    const ops::FormGuard fused(ops::Form::fused);
    const auto actual =
        torch::autograd::grad({ema->forward(floats.back(), mask)}, floats, {cotangent.to(torch::kFloat)});
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_LT(distance(expected[i], actual[i]),
                1e-5 * std::max(1.0, expected[i].abs().max().item<double>()));
  }
}

TEST(Ema, StreamsInConstantMemory) {
  const torch::NoGradGuard no_grad;
  EmaOptions options;
  options.bidirectional = false;
  Ema ema(20, options);
  const Tensor x = torch::randn({3, 40, 20}), whole = ema->forward(x);
  Tensor state = ema->initial_state(3);
  EXPECT_EQ(state.sizes(), (std::vector<int64_t>{3, 20, 16}));
  const Tensor before = state;
  for (int64_t t = 0; t < 40; ++t) {
    const Tensor y = ema->forward(x.narrow(1, t, 1), {}, &state);
    EXPECT_LT(distance(whole.narrow(1, t, 1), y), 1e-5);
  }
  EXPECT_EQ(before.abs().max().item<float>(), 0.0f);  // a state is a value: the old one is unchanged
}

TEST(Ema, DimensionZeroIsTheIdentity) {
  EmaOptions options;
  options.dimension = 0;
  Ema ema(7, options);
  EXPECT_TRUE(ema->parameters().empty());
  const Tensor x = torch::randn({2, 3, 7});
  EXPECT_TRUE(torch::equal(x, ema->forward(x)));
}

TEST(Ema, RejectsInvalidInputsAndDescribesItself) {
  EmaOptions options;
  options.truncation = 9;
  Ema ema(7, options);
  EXPECT_THROW(ema->forward(torch::randn({2, 3, 8})), Error);
  EXPECT_THROW(ema->forward(torch::randn({2, 3, 7}), torch::zeros({2, 4}, torch::kBool)), Error);
  Tensor state;
  EXPECT_THROW(ema->forward(torch::randn({2, 3, 7}), {}, &state), Error);
  std::ostringstream text;
  text << ema;
  EXPECT_EQ(text.str(), "mega::nn::Ema(D=7, N=16, multidimensional, bidirectional, truncation=9)");
}

}  // namespace
}  // namespace mega::nn
