// Activations and dropout: fused against reference, gradients of the reference against finite differences.
#include "mega/ops/activation.h"

#include <gtest/gtest.h>

#include "mega/base/error.h"
#include "mega/ops/dropout.h"
#include "tests/base/helpers.h"
#include "tests/compare.h"
#include "tests/gradcheck.h"

namespace mega::ops {
namespace {

using mega::testing::compare_forms;
using mega::testing::Tensors;
using torch::Tensor;

constexpr Activation kActivations[] = {Activation::identity,  Activation::silu, Activation::gelu,
                                       Activation::gelu_tanh, Activation::relu, Activation::relu2,
                                       Activation::sigmoid};

TEST(Activation, FormsAgree) {
  torch::manual_seed(1);
  for (const Activation activation : kActivations) {
    SCOPED_TRACE(to_string(activation));
    for (const Dropout& dropout : {Dropout(), Dropout{0.4f, 9}, Dropout{1.0f, 9}}) {
      const auto operation = [&](const Tensors& in) { return activate(in[0], activation, dropout); };
      compare_forms(operation, {torch::randn({7}) * 3});
      compare_forms(operation, {torch::randn({2, 3, 17}) * 3});
      compare_forms(operation, {torch::randn({3, 500, 33}) * 3});
    }
  }
}

TEST(Activation, GradientsOfTheReference) {
  torch::manual_seed(2);
  const auto options = torch::TensorOptions(torch::kFloat64);
  for (const Activation activation : kActivations) {
    SCOPED_TRACE(to_string(activation));
    Tensor x = torch::randn({3, 7}, options).requires_grad_();
    check_gradients([&] { return Tensors{activate(x, activation, {0.3f, 5})}; }, {x});
  }
  Tensor x = torch::randn({20}, options).requires_grad_();
  check_gradients([&] { return Tensors{relu2(x), laplace(x)}; }, {x});
}

// Appendix C: the Laplace function equals relu^2 in value and slope at sqrt(1/2), and is a probability.
TEST(Activation, LaplaceMeetsRelu2) {
  Tensor x = torch::full({1}, std::sqrt(0.5), torch::kFloat64).requires_grad_();
  const Tensor l = laplace(x), r = relu2(x);
  EXPECT_NEAR(l.item<double>(), r.item<double>(), 1e-5);
  EXPECT_NEAR(torch::autograd::grad({l}, {x})[0].item<double>(),
              torch::autograd::grad({r}, {x})[0].item<double>(), 1e-5);
  const Tensor everywhere = laplace(torch::linspace(-50, 50, 1001));
  EXPECT_GE(everywhere.min().item<float>(), 0.0f);
  EXPECT_LE(everywhere.max().item<float>(), 1.0f);
}

TEST(Dropout, KeepsTheMean) {
  torch::manual_seed(3);
  const Tensor x = torch::ones({100, 200});
  for (const double rate : {0.1, 0.5}) {
    const Tensor y = dropout(x, draw_dropout(rate, true));
    const double n = static_cast<double>(x.numel()), deviation = std::sqrt(rate / (1 - rate) / n);
    EXPECT_NEAR(y.mean().item<double>(), 1.0, 4 * deviation);
    EXPECT_NEAR(y.eq(0).to(torch::kFloat64).mean().item<double>(), rate,
                4 * std::sqrt(rate * (1 - rate) / n));
  }
}

// A seed is drawn from libtorch's generator, and only if something will be dropped.
TEST(Dropout, IsDrawnFromTheGenerator) {
  torch::manual_seed(4);
  const auto first = draw_dropout(0.2, true), second = draw_dropout(0.2, true);
  EXPECT_NE(first.seed, second.seed);
  torch::manual_seed(4);
  EXPECT_FALSE(draw_dropout(0.2, false).active());
  EXPECT_FALSE(draw_dropout(0.0, true).active());
  EXPECT_EQ(draw_dropout(0.2, true).seed, first.seed);
  EXPECT_THROW(draw_dropout(1.5, true), Error);
  EXPECT_THROW(draw_dropout(-0.1, true), Error);
}

TEST(Dropout, FeatureDropoutDropsWholeChannels) {
  torch::manual_seed(5);
  const Tensor y = feature_dropout(torch::ones({40, 11, 30}), draw_dropout(0.3, true));
  EXPECT_TRUE(y.eq(y.narrow(1, 0, 1)).all().item<bool>());  // one decision for all positions
  const Tensor dropped = y.select(1, 0).eq(0);              // (B, D)
  EXPECT_NEAR(dropped.to(torch::kFloat64).mean().item<double>(), 0.3, 4 * std::sqrt(0.3 * 0.7 / 1200));
  EXPECT_FALSE(dropped[0].equal(dropped[1]));  // drawn separately for each sequence
  EXPECT_TRUE((y.select(1, 0).masked_select(~dropped) - 1 / 0.7).abs().max().item<float>() < 1e-6f);
}

}  // namespace
}  // namespace mega::ops
