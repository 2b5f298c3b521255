#include "mega/models/decay_spectrum.h"

#include <gtest/gtest.h>

namespace mega::models {
namespace {

using torch::Tensor;

TEST(DecaySpectrum, HalfLivesByHand) {
  struct Move : torch::nn::Module {
    Move() {
      delta = register_parameter("delta", torch::zeros({1, 2, 1}));       // sigmoid(0) = 1/2
      alpha = register_parameter("alpha", torch::full({1, 2, 1}, 30.0));  // sigmoid = 1
    }
    Tensor delta, alpha;
  };
  torch::nn::Module layer, model;
  layer.register_module("move", std::make_shared<Move>());
  model.register_module("layer", std::make_shared<torch::nn::Module>(layer));
  const auto spectrum = decay_spectrum(model);
  ASSERT_EQ(spectrum.size(), 1u);
  ASSERT_EQ(spectrum[0].size(), 2u);
  EXPECT_NEAR(spectrum[0][0], 1.0, 1e-9) << "half is gone after one position";
}

}  // namespace
}  // namespace mega::models
