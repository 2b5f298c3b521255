#include "mega/ops/softmax_loss.h"

#include <gtest/gtest.h>

#include "mega/ops/form.h"
#include "tests/base/helpers.h"
#include "tests/gradcheck.h"

namespace mega::ops {
namespace {

using torch::Tensor;

struct Result {
  Tensor losses, dx, dweight;
};

Result run(Form form, const Tensor& x, const Tensor& weight, const Tensor& targets, double smoothing) {
  const FormGuard guard(form);
  const Tensor input = x.clone().requires_grad_(), matrix = weight.clone().requires_grad_();
  const Tensor losses = softmax_losses(input, matrix, targets, smoothing);
  // Rows are weighted differently, so that a gradient in the wrong row is detected.
  (losses * torch::linspace(0.5, 2.0, x.size(0))).sum().backward();
  return {losses.detach(), input.grad(), matrix.grad()};
}

double difference(const Tensor& a, const Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

TEST(SoftmaxLosses, FusedEqualsReferenceOverManyBlocksOfRows) {
  torch::manual_seed(1);
  // 20,000 scores per row give blocks of 128 rows: three, the last one shorter.
  for (const auto& [rows, vocabulary] : {std::pair{300, 20000}, {1, 7}, {37, 264}}) {
    const Tensor x = torch::randn({rows, 16}), weight = torch::randn({vocabulary, 16});
    const Tensor targets = torch::randint(vocabulary, {rows}, torch::kInt64);
    for (const double smoothing : {0.0, 0.1, 1.0}) {
      const Result fused = run(Form::fused, x, weight, targets, smoothing),
                   plain = run(Form::reference, x.to(torch::kDouble), weight.to(torch::kDouble), targets,
                               smoothing);
      EXPECT_LT(difference(fused.losses, plain.losses), 1e-5);
      EXPECT_LT(difference(fused.dx, plain.dx), 1e-5);
      EXPECT_LT(difference(fused.dweight, plain.dweight), 1e-5);
    }
  }
}

TEST(SoftmaxLosses, SmoothingSpreadsAShareOfTheTargetOverAllTokens) {
  torch::manual_seed(2);
  const Tensor x = torch::randn({5, 6}), weight = torch::randn({9, 6});
  const Tensor targets = torch::randint(9, {5}, torch::kInt64);
  const Tensor p = torch::log_softmax(torch::mm(x, weight.t()), 1);
  for (const Form form : {Form::fused, Form::reference}) {
    const FormGuard guard(form);
    const Tensor losses = softmax_losses(x, weight, targets, 0.1);
    for (int64_t row = 0; row < 5; ++row) {
      double expected = 0.9 * -p[row][targets[row].item<int64_t>()].item<double>();
      for (int64_t token = 0; token < 9; ++token) expected += 0.1 / 9 * -p[row][token].item<double>();
      EXPECT_NEAR(losses[row].item<double>(), expected, 1e-5);
    }
  }
}

TEST(SoftmaxLosses, GradientsOfTheReferenceFormAreTheDifferences) {
  torch::manual_seed(3);
  const FormGuard guard(Form::reference);
  const auto random = [](int64_t rows) { return torch::randn({rows, 4}, torch::kDouble).requires_grad_(); };
  const Tensor x = random(3), weight = random(7);
  const Tensor targets = torch::tensor({0L, 6L, 3L});
  for (const double smoothing : {0.0, 0.1})
    check_gradients([&] { return std::vector{softmax_losses(x, weight, targets, smoothing)}; }, {x, weight});
}

TEST(SoftmaxLosses, LargeScoresDoNotOverflow) {
  const Tensor x = torch::full({2, 1}, 1000.0), weight = torch::tensor({{1.0F}, {0.5F}, {-1.0F}});
  const Tensor losses = softmax_losses(x, weight, torch::tensor({0L, 1L}));
  EXPECT_NEAR(losses[0].item<double>(), 0.0, 1e-6);
  EXPECT_NEAR(losses[1].item<double>(), 500.0, 1e-3);
}

TEST(SoftmaxLosses, EmptyInputGivesNoLosses) {
  const Tensor x = torch::empty({0, 4}, torch::requires_grad());
  const Tensor losses = softmax_losses(x, torch::randn({3, 4}), torch::empty({0}, torch::kInt64));
  EXPECT_EQ(losses.sizes(), c10::IntArrayRef({0}));
}

TEST(SoftmaxLosses, RejectsInvalidTargets) {
  const Tensor x = torch::randn({2, 4}), weight = torch::randn({3, 4});
  const auto error = [&](const Tensor& targets) {
    return testing::error_of([&] { softmax_losses(x, weight, targets); });
  };
  EXPECT_PRED2(testing::contains, error(torch::tensor({0L, 3L})), "outside 0 to 2");
  EXPECT_PRED2(testing::contains, error(torch::tensor({-1L, 0L})), "outside 0 to 2");
  EXPECT_PRED2(testing::contains, error(torch::tensor({0L})), "expected x (M, D)");
  EXPECT_PRED2(testing::contains, error(torch::tensor({0.0F, 1.0F})), "int64");
  for (const double smoothing : {-0.1, 1.1})
    EXPECT_PRED2(testing::contains, testing::error_of([&] {
                   softmax_losses(x, weight, torch::tensor({0L, 1L}), smoothing);
                 }),
                 "no share of 1");
}

}  // namespace
}  // namespace mega::ops
