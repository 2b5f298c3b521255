#include "mega/models/saliency.h"

#include <gtest/gtest.h>

#include "mega/models/image_classifier.h"
#include "mega/ops/form.h"
#include "tests/base/helpers.h"
#include "tests/models/helpers.h"

namespace mega::models {
namespace {

using testing::contains;
using testing::difference;
using testing::error_of;
using torch::Tensor;

ImageClassifierOptions tiny() {
  ImageClassifierOptions options;
  options.image = 8;
  options.image_width = 12;
  options.patch = 4;
  options.classes = 3;
  options.layers = 2;
  options.block.width = 8;
  options.block.values = 12;
  options.block.shared = 6;
  options.block.hidden = 10;
  options.block.ema.dimension = 3;
  return options;
}

// Along x the score changes as the sum over all positions says, and without one pixel as that pixel says.
TEST(Saliency, IsTheDerivativeTimesTheInput) {
  torch::manual_seed(1);
  auto model = testing::with_large_weights(ImageClassifier(tiny()));
  model->to(torch::kFloat64);
  const ops::FormGuard guard(ops::Form::reference);
  const Tensor x = torch::randn({2, 96, 3}, torch::kFloat64), labels = torch::tensor({2, 0});
  const Tensor weights = saliency(*model, {x, {}}, labels);
  ASSERT_EQ(weights.sizes(), (std::vector<int64_t>{2, 96}));
  const auto scores = [&](const Tensor& at) {
    const torch::NoGradGuard no_gradients;
    return model->predict({{at, {}}}).gather(1, labels.unsqueeze(1)).squeeze(1);
  };
  constexpr double kStep = 1e-5;
  const Tensor along = (scores(x * (1 + kStep)) - scores(x * (1 - kStep))) / (2 * kStep);
  EXPECT_LT(difference(weights.sum(1), along), 1e-6);
  Tensor more = x.clone(), less = x.clone();
  more.select(1, 41).mul_(1 + kStep);
  less.select(1, 41).mul_(1 - kStep);
  EXPECT_LT(difference(weights.select(1, 41), (scores(more) - scores(less)) / (2 * kStep)), 1e-6);
}

TEST(Saliency, BothFormsAgreeAndTheModelStaysAsItWas) {
  torch::manual_seed(2);
  auto model = testing::with_large_weights(ImageClassifier(tiny()));
  model->train();
  const Tensor x = torch::randn({1, 96, 3}), labels = torch::tensor({1});
  const torch::NoGradGuard no_gradients;  // a caller's guard does not matter
  const Tensor fused = saliency(*model, {x, {}}, labels);
  const ops::FormGuard guard(ops::Form::reference);
  EXPECT_LT(difference(fused, saliency(*model, {x, {}}, labels)), 1e-4 * fused.abs().max().item<double>());
  EXPECT_TRUE(model->is_training());
  for (const Tensor& parameter : model->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST(Saliency, RefusesWhatHasNoGradient) {
  auto model = ImageClassifier(tiny());
  const Tensor tokens = torch::zeros({1, 96}, torch::kInt64);
  EXPECT_PRED2(contains, error_of([&] { saliency(*model, {tokens, {}}, torch::tensor({0})); }), "tokens");
  EXPECT_PRED2(contains, error_of([&] {
                 saliency(*model, {torch::zeros({1, 96, 3}), {}}, torch::tensor({0, 1}));
               }),
               "a class for each of 1 inputs");
}

}  // namespace
}  // namespace mega::models
