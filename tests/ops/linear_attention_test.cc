// Linear attention: both forms, its formula written out, causality, padding, and gradients.
#include "mega/ops/linear_attention.h"

#include <gtest/gtest.h>

#include "mega/ops/heads.h"
#include "tests/base/helpers.h"
#include "tests/compare.h"
#include "tests/gradcheck.h"

namespace mega::ops {
namespace {

using mega::testing::compare_forms;
using mega::testing::contains;
using mega::testing::distance;
using mega::testing::error_of;
using mega::testing::Tensors;
using torch::Tensor;

// Features must be positive unless the operation makes them so.
Tensors inputs(int64_t batch, int64_t length, int64_t heads, int64_t features, int64_t values, bool relu) {
  const auto draw = [&](int64_t width) {
    const Tensor x = torch::randn({batch, length, heads * width});
    return relu ? x : x.abs() + 0.01;
  };
  return {draw(features), draw(features), torch::randn({batch, length, heads * values})};
}

TEST(LinearAttention, FormsAgree) {
  torch::manual_seed(1);
  for (const bool relu : {true, false})
    for (const int64_t length : {4, 7, 256, 300})
      for (const bool padded : {false, true}) {
        const Tensor mask = padded ? torch::rand({2, length}) < 0.4 : Tensor();
        // A single key has the weight 1, and gradients are rounding errors.
        if (padded) mask.narrow(1, 0, 3).fill_(false);
        compare_forms(
            [&](const Tensors& x) {
              return linear_attention(x[0], x[1], x[2], mask, {3, false, relu});
            },
            inputs(2, length, 3, 5, 6, relu), 0.1);
      }
}

// Each query by a sum over the keys that it sees.
Tensor one_by_one(const Tensors& x, const Tensor& mask, const LinearAttentionSettings& settings) {
  const auto features = [&](const Tensor& y) {
    return split_heads(settings.relu ? torch::relu(y) + 1e-3 : y, settings.heads);
  };
  const Tensor scores = torch::matmul(features(x[0]), features(x[1]).transpose(2, 3));  // (B, H, L, L)
  Tensor seen = torch::ones_like(scores);
  if (settings.causal) seen = seen.tril();
  if (mask.defined()) seen = seen * (~mask).view({mask.size(0), 1, 1, -1});
  const Tensor weights = scores * seen;
  return join_heads(torch::matmul(weights / weights.sum(3, true), split_heads(x[2], settings.heads)));
}

TEST(LinearAttention, IsTheSumOverKeys) {
  torch::manual_seed(2);
  const FormGuard guard(Form::reference);
  for (const bool relu : {true, false})
    for (const bool causal : {false, true}) {
      const LinearAttentionSettings settings{2, causal, relu};
      const Tensors x = mega::testing::to(inputs(3, 150, 2, 4, 5, relu), torch::kFloat64);
      Tensor mask = torch::rand({3, 150}) < 0.3;
      mask.select(1, 0).fill_(false);
      // The divisor of causal attention has a small offset.
      EXPECT_LT(distance(linear_attention(x[0], x[1], x[2], mask, settings), one_by_one(x, mask, settings)),
                causal ? 1e-3 : 1e-12);
    }
}

TEST(LinearAttention, CausalQueriesDoNotSeeTheFuture) {
  torch::manual_seed(3);
  const LinearAttentionSettings settings{2, true, true};
  const Tensors x = inputs(1, 100, 2, 4, 5, true);
  const Tensor before = linear_attention(x[0], x[1], x[2], {}, settings);
  for (const int64_t at : {1, 63, 64, 99}) {
    Tensors changed;
    for (const Tensor& y : x) {
      changed.push_back(y.clone());
      changed.back().slice(1, at).normal_();
    }
    const Tensor after = linear_attention(changed[0], changed[1], changed[2], {}, settings);
    EXPECT_EQ((after - before).slice(1, 0, at).abs().max().item<double>(), 0.0) << at;
    EXPECT_GT((after - before).slice(1, at).abs().max().item<double>(), 1e-3) << at;
  }
}

TEST(LinearAttention, WhatIsPaddedDoesNotMatter) {
  torch::manual_seed(4);
  Tensors x = inputs(2, 20, 2, 4, 5, true);
  Tensor mask = torch::zeros({2, 20}, torch::kBool);
  mask[1].slice(0, 11).fill_(true);
  const Tensor before = linear_attention(x[0], x[1], x[2], mask, {2, false, true});
  for (const size_t i : {1, 2}) x[i][1].slice(0, 11).normal_();
  EXPECT_EQ((linear_attention(x[0], x[1], x[2], mask, {2, false, true}) - before).abs().max().item<double>(),
            0.0);
  const Tensor nothing = linear_attention(x[0], x[1], x[2], torch::ones_like(mask), {2, false, true});
  EXPECT_EQ(nothing.abs().max().item<double>(), 0.0) << "a query that sees no key gives 0";
}

TEST(LinearAttention, GradientsMatchFiniteDifferences) {
  torch::manual_seed(5);
  const FormGuard guard(Form::reference);
  for (const bool causal : {false, true}) {
    Tensors x = mega::testing::to(inputs(1, 9, 2, 3, 2, false), torch::kFloat64);
    for (Tensor& y : x) y.requires_grad_();
    check_gradients([&] { return Tensors{linear_attention(x[0], x[1], x[2], {}, {2, causal, false})}; }, x);
  }
}

TEST(LinearAttention, RejectsWhatDoesNotFit) {
  const Tensor x = torch::rand({2, 5, 6});
  EXPECT_PRED2(contains, error_of([&] { linear_attention(x, x.slice(1, 1), x, {}, {2}); }),
               "must be (B, L, M)");
  EXPECT_PRED2(contains, error_of([&] { linear_attention(x, x, x, {}, {4}); }), "number of heads, 4");
  EXPECT_PRED2(contains, error_of([&] { linear_attention(x, x, x, torch::zeros({2, 5}), {2}); }), "boolean");
}

}  // namespace
}  // namespace mega::ops
