#include "mega/train/weight_average.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"
#include "tests/save_tensors.h"

namespace mega::train {
namespace {

using torch::Tensor;

struct Model : torch::nn::Module {
  Model() {
    weight = register_parameter("weight", torch::zeros({2}, torch::kFloat64));
    count = register_buffer("count", torch::zeros({1}, torch::kInt64));
  }
  void set(double value) {
    const torch::NoGradGuard guard;
    weight.fill_(value);
    count.fill_(static_cast<int64_t>(value));
  }
  Tensor weight, count;
};

double first(const ops::NamedTensors& tensors) { return tensors.front().second[0].item<double>(); }

TEST(WeightAverage, RemembersMoreAsItGoesOn) {
  Model model;
  WeightAverage average(model, 0.2);
  model.set(10);
  average.add(1);  // memory 1 / 10
  EXPECT_NEAR(first(average.weights()), 9.0, 1e-12);
  model.set(20);
  average.add(2);  // 2 / 11
  const double second = 9.0 * 2 / 11 + 20.0 * 9 / 11;
  EXPECT_NEAR(first(average.weights()), second, 1e-12);
  model.set(0);
  average.add(1000);  // no more than asked for
  EXPECT_NEAR(first(average.weights()), 0.2 * second, 1e-12);
  EXPECT_EQ(average.weights()[1].second.item<int64_t>(), 0) << "whole numbers are not averaged";
}

TEST(WeightAverage, SwapsThereAndBack) {
  Model model;
  WeightAverage average(model, 0.9);
  model.set(10);
  average.add(1);
  average.swap();
  EXPECT_NEAR(model.weight[0].item<double>(), 9.0, 1e-12);
  average.swap();
  EXPECT_EQ(model.weight[0].item<double>(), 10.0);
  EXPECT_NEAR(first(average.weights()), 9.0, 1e-12);
}

TEST(WeightAverage, NoMemoryMeansTheModelItself) {
  Model model;
  WeightAverage average(model, 0.0);
  model.set(3);
  average.add(1);
  average.swap();
  EXPECT_EQ(first(average.weights()), 3.0);
  EXPECT_TRUE(average.state().empty());
}

TEST(WeightAverage, StateGoesThroughAFile) {
  const testing::ScratchFolder folder;
  Model model;
  WeightAverage average(model, 0.9), other(model, 0.9);
  model.set(10);
  average.add(1);
  testing::save_tensors(folder / "state", average.state());
  other.load_state(Safetensors::open(folder / "state"));
  EXPECT_EQ(first(other.weights()), first(average.weights()));
  testing::save_tensors(folder / "empty", {});
  EXPECT_PRED2(testing::contains,
               testing::error_of([&] { other.load_state(Safetensors::open(folder / "empty")); }),
               "average.weight");
}

}  // namespace
}  // namespace mega::train
