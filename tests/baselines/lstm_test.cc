// The LSTM classifier: masks, both directions, gradients, size.
#include "mega/baselines/lstm.h"

#include <gtest/gtest.h>

#include "mega/baselines/model_builders.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/presets.h"
#include "tests/gradcheck.h"
#include "tests/models/helpers.h"

namespace mega::baselines {
namespace {

using testing::difference;
using testing::lengths;
using testing::random_tokens;
using testing::with_large_weights;
using torch::Tensor;

LstmOptions tiny(Pooling pooling) {
  LstmOptions options;
  options.vocabulary = 12;
  options.classes = 3;
  options.layers = 2;
  options.head = 7;
  options.width = 6;
  options.hidden = 5;
  options.dropout = 0.0;
  options.pooling = pooling;
  return options;
}

TEST(Lstm, PaddingDoesNotChangeTheLogits) {
  torch::manual_seed(1);
  for (const Pooling pooling : {Pooling::mean, Pooling::last}) {
    Lstm model = with_large_weights(Lstm(tiny(pooling)));
    const Tensor batch = random_tokens(4, 21);
    const std::vector<int64_t> sizes = {5, 21, 1, 8};
    std::vector<Tensor> alone;
    for (int64_t i = 0; i < 4; ++i)
      alone.push_back(
          model->predict({{batch.narrow(0, i, 1).slice(1, 0, sizes[static_cast<size_t>(i)]), {}}}));
    EXPECT_LT(difference(torch::cat(alone), model->predict({{batch, lengths(sizes)}})), 1e-5)
        << to_string(pooling);
  }
}

TEST(Lstm, BothEndsMatter) {
  torch::manual_seed(2);
  Lstm model = with_large_weights(Lstm(tiny(Pooling::last)));
  const Tensor tokens = random_tokens(1, 9), logits = model->predict({{tokens, {}}});
  for (const int64_t position : {0, 8}) {
    Tensor changed = tokens.clone();
    changed.select(1, position) = 2 + (changed.select(1, position) - 1) % 10;
    EXPECT_GT(difference(model->predict({{changed, {}}}), logits), 1e-4) << position;
  }
}

TEST(Lstm, Gradients) {
  torch::manual_seed(3);
  Lstm model(tiny(Pooling::last));
  model->to(torch::kFloat64);
  const Tensor tokens = random_tokens(2, 4);
  check_gradients(
      [&] {
        return std::vector<Tensor>{model->predict({{tokens, lengths({4, 3})}})};
      },
      model->parameters());
}

TEST(Lstm, IsAsLargeAsMega) {
  for (const char* name : {"lra-listops", "lra-text", "lra-image", "listops-small"}) {
    const ModelOptions mega = load_preset(name).model;
    const auto ours = static_cast<double>(count_parameters(mega).total),
               theirs = static_cast<double>(count_parameters(*baseline_of(mega, "lstm")).total);
    EXPECT_NEAR(theirs / ours, 1.0, 0.05) << name;
  }
}

}  // namespace
}  // namespace mega::baselines
