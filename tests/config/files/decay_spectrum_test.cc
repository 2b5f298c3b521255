#include "mega/config/files/decay_spectrum.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;

TEST(HalfLives, ByHand) {
  // sigmoid(0) = 1/2, sigmoid(30) = 1: half is gone after one position.
  EXPECT_NEAR(half_lives(std::array{0.0F}, std::array{30.0F}).at(0), 1.0, 1e-9);
  // A quarter goes at each position.
  EXPECT_NEAR(half_lives(std::array{0.0F}, std::array{0.0F}).at(0), std::log(0.5) / std::log(0.75), 1e-9);
  // Without alpha.
  EXPECT_NEAR(half_lives(std::array{0.0F}, {}).at(0), 1.0, 1e-9);
}

TEST(HalfLives, NeedAsManyOfBoth) {
  EXPECT_PRED2(contains, error_of([] { half_lives(std::array{0.0F, 1.0F}, std::array{0.0F}); }), "2");
}

TEST(DecaySpectrum, LayersOfAFileAreInTheirOrder) {
  testing::ScratchFolder folder;
  // Half lives of layer i are longer than those of layer i - 1.
  std::array<float, 12> delta{};
  for (size_t i = 0; i < delta.size(); ++i) delta[i] = -static_cast<float>(i);
  std::vector<TensorView> tensors;
  for (size_t i = 0; i < delta.size(); ++i)
    tensors.push_back({"decoder.layers." + std::to_string(i) + ".mega_layer.move.delta",
                       DType::F32,
                       {1, 1, 1},
                       std::as_bytes(std::span(delta).subspan(i, 1))});
  const std::array<float, 1> alpha = {0.0F};
  tensors.push_back(
      {"decoder.layers.0.mega_layer.move.alpha", DType::F32, {1}, std::as_bytes(std::span(alpha))});
  write_safetensors(folder / "model", tensors, {});
  const auto layers = decay_spectrum(Safetensors::open(folder / "model"));
  ASSERT_EQ(layers.size(), delta.size());
  EXPECT_NEAR(layers[0].at(0), std::log(0.5) / std::log(0.75), 1e-9) << "with its alpha";
  for (size_t i = 2; i < layers.size(); ++i) EXPECT_GT(layers[i].at(0), layers[i - 1].at(0)) << i;
}

TEST(DecaySpectrum, OfATranslatorBeginsWithItsEncoder) {
  testing::ScratchFolder folder;
  const std::array delta = {0.0F, -1.0F, -2.0F, -3.0F};
  const std::array names = {"encoder.layers.0", "encoder.layers.10", "decoder.layers.0", "decoder.layers.1"};
  std::vector<TensorView> tensors;
  for (size_t i = 0; i < delta.size(); ++i)
    tensors.push_back({names[i] + std::string(".mega_layer.move.delta"),
                       DType::F32,
                       {1, 1, 1},
                       std::as_bytes(std::span(delta).subspan(i, 1))});
  write_safetensors(folder / "model", tensors, {});
  const auto layers = decay_spectrum(Safetensors::open(folder / "model"));
  ASSERT_EQ(layers.size(), delta.size());
  for (size_t i = 1; i < layers.size(); ++i) EXPECT_GT(layers[i].at(0), layers[i - 1].at(0)) << i;
}

TEST(DecaySpectrum, OfOtherTypesIsAnError) {
  testing::ScratchFolder folder;
  const std::array<std::byte, 2> bytes{};
  write_safetensors(folder / "model", {{"a.move.delta", DType::BF16, {1}, bytes}}, {});
  EXPECT_PRED2(contains, error_of([&] { decay_spectrum(Safetensors::open(folder / "model")); }),
               "expected F32");
}

}  // namespace
}  // namespace mega
