// Gated cross-attention: its definition, both forms, incremental decoding, rejected inputs.
#include <gtest/gtest.h>

#include "mega/nn/gated_cross_attention.h"
#include "tests/nn/helpers.h"

namespace mega::nn {
namespace {

using namespace mega::testing;
using torch::Tensor;

GatedCrossAttention make_layer(const BlockOptions& options) {
  torch::manual_seed(6);
  GatedCrossAttention layer(options);
  scramble(*layer);
  return layer;
}

TEST(CrossAttention, MatchesTheDefinition) {
  BlockOptions options = small_block();
  options.prenorm = true;
  options.position = PositionKind::simple;
  GatedCrossAttention layer = make_layer(options);
  const Tensor table = layer->rel_pos_bias->parameters()[0];
  const Tensor target = torch::randn({2, 4, 11}), source = torch::randn({2, 6, 11});
  Tensor mask = torch::zeros({2, 6}, torch::kBool);
  mask[1].slice(0, 4) = true;

  const auto parts = layer->q_proj->forward(layer->norm->forward(target)).split_with_sizes({11, 11, 10}, -1);
  const Tensor k = layer->k_proj->forward(source), v = torch::silu(layer->v_proj->forward(source));
  Tensor scores = torch::matmul(parts[2], k.transpose(1, 2)) / std::sqrt(10.0);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 6; ++j)
      scores.select(1, i).select(1, j).add_(table[options.max_positions - 1 + j - i]);
  scores = scores.masked_fill(mask.unsqueeze(1), -INFINITY);
  const Tensor attended = torch::matmul(torch::softmax(scores, -1), v);
  const Tensor h = torch::silu(layer->h_proj->forward(attended * torch::silu(parts[1])));
  const Tensor expected = target + torch::sigmoid(parts[0]) * (h - target);
  for (const auto form : {ops::Form::reference, ops::Form::fused}) {
    const ops::FormGuard guard(form);
    expect_close(layer->forward(target, source, mask), expected, 1e-5, "layer");
  }
}

TEST(CrossAttention, FormsAgree) {
  std::mt19937 random(1);
  for (const auto position : kPositions) {
    for (const auto function : kFunctions) {
      for (const auto& [targets, sources] : {std::pair{5, 9}, {9, 5}, {1, 70}}) {
        BlockOptions options = small_block();
        options.position = position;
        options.attention = function;
        options.prenorm = random() % 2;
        options.feature_dropout = random() % 3 == 0;
        if (random() % 2) options.dropout = options.attention_dropout = options.hidden_dropout = 0.2;
        SCOPED_TRACE(::testing::Message()
                     << to_string(position) << " " << to_string(function) << " " << targets);
        GatedCrossAttention layer = make_layer(options);
        const Tensor source = torch::randn({2, sources, 11});
        const Tensor mask = random() % 2 ? torch::rand({2, sources}) < 0.3 : Tensor();
        compare_module_forms(*layer, torch::randn({2, targets, 11}), [&](const Tensor& x) {
          return layer->forward(x, source.to(x.scalar_type()), mask);
        });
      }
    }
  }
}

// The gradient with respect to the source.
TEST(CrossAttention, GradientOfTheSource) {
  GatedCrossAttention layer = make_layer(small_block());
  const Tensor target = torch::randn({2, 3, 11});
  compare_module_forms(*layer, torch::randn({2, 5, 11}),
                       [&](const Tensor& x) { return layer->forward(target.to(x.scalar_type()), x); });
}

// The source is read once; targets then continue in segments or single steps.
TEST(CrossAttention, StreamsEqualTheWhole) {
  const torch::NoGradGuard no_grad;
  for (const auto position : kPositions) {
    for (const auto function : kFunctions) {
      SCOPED_TRACE(::testing::Message() << to_string(position) << " " << to_string(function));
      BlockOptions options = small_block();
      options.position = position;
      options.attention = function;
      GatedCrossAttention layer = make_layer(options);
      const Tensor target = torch::randn({2, 13, 11}), source = torch::randn({2, 8, 11});
      const Tensor mask = torch::rand({2, 8}) < 0.3;
      const Tensor whole = layer->forward(target, source, mask);
      for (const std::vector<int64_t>& cuts : {std::vector<int64_t>{5, 1, 7}, std::vector<int64_t>(13, 1)}) {
        CrossAttentionState state;
        const Tensor y = in_segments(target, {}, cuts, [&](const Tensor& part, const Tensor&) {
          return layer->forward(part, state.position == 0 ? source : Tensor(), mask, &state);
        });
        expect_close(y, whole, 1e-5, "stream");
        EXPECT_EQ(state.position, 13);
      }
    }
  }
}

TEST(CrossAttention, SourceOfOnlyPadding) {
  for (const auto form : {ops::Form::reference, ops::Form::fused}) {
    const ops::FormGuard guard(form);
    for (const auto function : kFunctions) {
      BlockOptions options = small_block();
      options.attention = function;
      GatedCrossAttention layer = make_layer(options);
      const Tensor source = torch::randn({2, 5, 11}).requires_grad_();
      Tensor mask = torch::zeros({2, 5}, torch::kBool);
      mask[0] = true;
      const Tensor y = layer->forward(torch::randn({2, 3, 11}), source, mask);
      y.square().sum().backward();
      EXPECT_TRUE(y.isfinite().all().item<bool>());
      EXPECT_TRUE(source.grad().isfinite().all().item<bool>());
    }
  }
}

TEST(CrossAttention, RejectsInvalidInputs) {
  BlockOptions options = small_block();
  options.max_positions = 9;
  const Tensor target = torch::randn({2, 4, 11}), source = torch::randn({2, 6, 11});
  const auto message = [&](const Tensor& t, const Tensor& s, const Tensor& mask = {}) {
    return error_of([&] { make_layer(options)->forward(t, s, mask); });
  };
  EXPECT_PRED2(contains, message(torch::randn({2, 4, 10}), source), "target: expected (batch, length, 11)");
  EXPECT_PRED2(contains, message(target, torch::randn({2, 6, 10})), "source: expected (batch, length, 11)");
  EXPECT_PRED2(contains, message(target, Tensor()), "source: expected (batch, length, 11)");
  EXPECT_PRED2(contains, message(target, torch::randn({3, 6, 11})), "2 targets for 3 sources");
  EXPECT_PRED2(contains, message(target, source, torch::zeros({2, 4}, torch::kBool)), "a mask of (2, 6)");
  EXPECT_PRED2(contains, message(target, source, torch::zeros({2, 6})), "must be boolean");
  Tensor broken = source.clone();
  broken[0][0][0] = NAN;
  EXPECT_PRED2(contains, message(target, broken), "NaN");
  for (const auto position : {PositionKind::simple, PositionKind::tupe}) {
    options.position = position;
    EXPECT_PRED2(contains, message(target, torch::randn({2, 10, 11})), "raise max_positions");
    EXPECT_PRED2(contains, message(torch::randn({2, 10, 11}), source), "raise max_positions");
  }
  GatedCrossAttention layer = make_layer(options);
  CrossAttentionState state;
  layer->forward(target, source, {}, &state);
  EXPECT_PRED2(contains, error_of([&] {
                 layer->forward(torch::randn({3, 1, 11}), {}, {}, &state);
               }),
               "does not fit");
  state.values = state.values.narrow(1, 0, 2);
  EXPECT_PRED2(contains, error_of([&] {
                 layer->forward(torch::randn({2, 1, 11}), {}, {}, &state);
               }),
               "does not fit");
}

}  // namespace
}  // namespace mega::nn
