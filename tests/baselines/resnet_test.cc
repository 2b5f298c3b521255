#include "mega/baselines/resnet.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mega::baselines {
namespace {

using torch::Tensor;

ResNetOptions tiny() {
  ResNetOptions options;
  options.classes = 3;
  options.stem = 4;
  options.blocks = {2, 1, 1};
  options.widths = {2, 3, 5};
  return options;
}

TEST(ResNet, ReadsAnySize) {
  torch::manual_seed(1);
  for (const auto& [height, width] : {std::pair{32, 32}, {33, 18}, {1, 1}}) {
    ResNetOptions options = tiny();
    options.image = height;
    options.image_width = width;
    ResNet model(options);
    model->eval();
    EXPECT_EQ(model->forward(torch::randn({2, 3, height, width})).sizes(), torch::IntArrayRef({2, 3}));
    EXPECT_EQ(model->features(torch::randn({2, 3, height, width})).size(1), 20);
  }
}

// Weights of the last norms are 0.
TEST(ResNet, BlocksBeginAsTheirShortcuts) {
  torch::manual_seed(2);
  ResNet model(tiny());
  const auto parameters = model->named_parameters();
  for (const auto& item : parameters) {
    if (!item.key().ends_with("bn3.weight")) continue;
    EXPECT_EQ(item.value().abs().max().item<double>(), 0.0) << item.key();
  }
  EXPECT_NEAR(parameters["conv1.weight"].std().item<double>(), std::sqrt(2.0 / (4 * 49)), 0.02);
}

TEST(ResNet, StatisticsMoveInTrainingAlone) {
  torch::manual_seed(3);
  ResNet model(tiny());
  const auto mean = [&] { return model->named_buffers()["layer2.0.bn2.running_mean"].clone(); };
  const Tensor pictures = torch::randn({4, 3, 32, 32}), before = mean();
  model->eval();
  model->forward(pictures);
  EXPECT_TRUE(mean().equal(before));
  model->train();
  model->forward(pictures);
  EXPECT_FALSE(mean().equal(before));
}

}  // namespace
}  // namespace mega::baselines
