#include "mega/models/language_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/base/helpers.h"
#include "tests/models/helpers.h"

namespace mega::models {
namespace {

using testing::contains;
using testing::error_of;
using torch::Tensor;

constexpr int64_t kVocabulary = 40;

LanguageModelOptions tiny(int64_t chunk = 32) { return testing::tiny_language_model(kVocabulary, chunk); }

Tensor random_tokens(int64_t batch, int64_t length) {
  return torch::randint(4, kVocabulary, {batch, length}, torch::kInt64);
}

double difference(const Tensor& a, const Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

// Reads the tokens in segments of 1 to `most` units.
Tensor in_cuts(LanguageModel& model, const Tensor& tokens, uint32_t seed, int64_t unit, int64_t most) {
  std::mt19937 random(seed);
  nn::State state;
  std::vector<Tensor> pieces;
  for (int64_t begin = 0; begin < tokens.size(1);) {
    const int64_t length = std::min(tokens.size(1) - begin,
                                    unit * static_cast<int64_t>(1 + random() % static_cast<uint64_t>(most)));
    pieces.push_back(model->features(tokens.narrow(1, begin, length), {}, &state));
    begin += length;
  }
  return torch::cat(pieces, 1);
}

TEST(LanguageModel, SegmentsOfALongTextEqualTheWhole) {
  torch::manual_seed(1);
  const torch::NoGradGuard guard;
  for (const int64_t chunk : {32, -1}) {
    LanguageModel model = testing::with_large_weights(LanguageModel(tiny(chunk)));
    const Tensor tokens = random_tokens(1, chunk > 0 ? 10'000 : 600);
    const Tensor whole = model->features(tokens);
    for (const uint32_t seed : {1, 2})
      EXPECT_LT(difference(in_cuts(model, tokens, seed, 1, 200), whole), 1e-5);
    const int64_t unit = chunk > 0 ? chunk : 50;
    EXPECT_LT(difference(in_cuts(model, tokens, 3, unit, 9), whole), 1e-5) << "whole chunks";
  }
}

TEST(LanguageModel, IsCausal) {
  torch::manual_seed(2);
  const torch::NoGradGuard guard;
  LanguageModel model(tiny());
  model->eval();
  const Tensor tokens = random_tokens(2, 70), other = tokens.clone();
  other.narrow(1, 50, 20).copy_(random_tokens(2, 20));
  const Tensor a = model->features(tokens), b = model->features(other);
  EXPECT_TRUE(a.narrow(1, 0, 50).equal(b.narrow(1, 0, 50)));
  EXPECT_FALSE(a.narrow(1, 50, 20).equal(b.narrow(1, 50, 20)));
}

TEST(LanguageModel, PaddingDoesNotLeak) {
  torch::manual_seed(3);
  const torch::NoGradGuard guard;
  LanguageModel model(tiny());
  model->eval();
  const Tensor tokens = random_tokens(1, 45);
  const Tensor padded = torch::constant_pad_nd(tokens, {0, 30}, 1);
  const Tensor features = model->features(padded, padded == 1);
  EXPECT_LT(difference(features.narrow(1, 0, 45), model->features(tokens)), 1e-5);
  EXPECT_EQ(features.narrow(1, 45, 30).abs().max().item<float>(), 0.0F);
}

TEST(LanguageModel, LossesMatchItsProbabilities) {
  torch::manual_seed(4);
  const torch::NoGradGuard guard;
  for (const bool adaptive : {false, true}) {
    for (const bool tied : {true, false}) {
      if (adaptive && !tied) continue;
      LanguageModelOptions options = tiny();
      options.tie_output = tied;
      if (adaptive) options.cutoffs = {10, 20};
      options.band_factor = 2;
      LanguageModel model(options);
      model->eval();
      const Tensor tokens = random_tokens(2, 33);
      const Tensor features = model->features(tokens).flatten(0, 1), targets = random_tokens(2, 33).flatten();
      const Tensor all = model->log_probabilities(features);
      EXPECT_EQ(all.sizes(), c10::IntArrayRef({66, 40}));
      EXPECT_TRUE(torch::allclose(model->losses(features, targets),
                                  -all.gather(1, targets.unsqueeze(1)).squeeze(1), 1e-5, 1e-5));
    }
  }
}

// The gradient flows back into earlier segments, whose states are part of the graph.
TEST(LanguageModel, GradientsFlowThroughTheState) {
  torch::manual_seed(5);
  LanguageModel model(tiny());
  model->eval();
  const Tensor tokens = random_tokens(1, 96), weights = torch::randn({1, 32, 16});
  const auto gradient = [&](bool cut) {
    model->zero_grad();
    nn::State state;
    Tensor y;
    if (cut) {
      model->features(tokens.narrow(1, 0, 64), {}, &state);
      y = model->features(tokens.narrow(1, 64, 32), {}, &state);
    } else {
      y = model->features(tokens).narrow(1, 64, 32);
    }
    (y * weights).sum().backward();
    return model->named_parameters()["decoder.layers.0.mega_layer.move.alpha"].grad().clone();
  };
  const Tensor whole = gradient(false);
  EXPECT_LT(difference(gradient(true), whole), 1e-4);
}

TEST(LanguageModel, AFailedCallLeavesTheStateUnchanged) {
  LanguageModel model(tiny());
  nn::State state;
  model->features(random_tokens(1, 5), {}, &state);
  const int64_t position = state.blocks[1].attention.position;
  EXPECT_FALSE(error_of([&] { model->features(random_tokens(2, 5), {}, &state); }).empty());
  EXPECT_EQ(state.blocks[1].attention.position, position);
}

TEST(LanguageModel, RejectsInvalidInputs) {
  LanguageModel model(tiny());
  EXPECT_PRED2(contains, error_of([&] { model->features(torch::tensor({{4L, 40L}})); }), "outside 0 to 39");
  EXPECT_PRED2(contains, error_of([&] { model->features(torch::tensor({{4L, -1L}})); }), "token -1");
  EXPECT_PRED2(contains, error_of([&] { model->features(torch::randn({1, 4})); }), "int64");
  EXPECT_PRED2(contains, error_of([&] { model->features(torch::empty({1, 0}, torch::kInt64)); }), "tokens");
  nn::State state;
  state.blocks.resize(3);
  EXPECT_PRED2(contains, error_of([&] { model->features(random_tokens(1, 4), {}, &state); }), "3 blocks");
}

}  // namespace
}  // namespace mega::models
