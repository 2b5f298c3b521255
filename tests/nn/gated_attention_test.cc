// The Mega layer as a module: its equations, both forms, streams, any length with any chunk, rejected inputs.
#include "mega/nn/gated_attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/gradcheck.h"
#include "tests/nn/helpers.h"

namespace mega::nn {
namespace {

using namespace mega::testing;
using torch::Tensor;

GatedAttention make_layer(const BlockOptions& options) {
  torch::manual_seed(5);
  GatedAttention layer(options);
  scramble(*layer);
  return layer;
}

Tensor random_mask(int64_t batch, int64_t length) { return torch::rand({batch, length}) < 0.25; }

::testing::Message describe(const BlockOptions& o) {
  return ::testing::Message() << to_string(o.attention) << " " << to_string(o.position) << " "
                              << to_string(o.norm) << " chunk=" << o.chunk << (o.causal ? " causal" : "")
                              << (o.prenorm ? " prenorm" : "");
}

TEST(GatedAttention, FormsAgree) {
  std::mt19937 random(1);
  const auto pick = [&](std::initializer_list<int64_t> list) { return list.begin()[random() % list.size()]; };
  for (const auto position : kPositions) {
    for (const auto function : kFunctions) {
      for (const bool causal : {false, true}) {
        BlockOptions options = causal ? small_causal_block() : small_block();
        options.position = position;
        options.attention = function;
        options.chunk = pick({-1, 3, 8, 64});
        options.prenorm = pick({0, 1});
        options.norm = pick({0, 1}) ? NormKind::layer : NormKind::scale;
        options.activation = pick({0, 1}) ? Activation::silu : Activation::gelu;
        if (pick({0, 1})) options.dropout = options.hidden_dropout = options.attention_dropout = 0.2;
        options.feature_dropout = pick({0, 0, 1});
        SCOPED_TRACE(describe(options));
        GatedAttention layer = make_layer(options);
        const int64_t batch = pick({1, 2, 3}), length = pick({1, 2, 7, 24, 25, 70});
        const Tensor mask = pick({0, 1}) ? random_mask(batch, length) : Tensor();
        compare_module_forms(*layer, torch::randn({batch, length, options.width}),
                             [&](const Tensor& x) { return layer->forward(x, mask); });
      }
    }
  }
}

// Content scores are divided by sqrt(Z) or the length; position biases are not.
Tensor weights(const GatedAttention& layer, const Tensor& q, const Tensor& k) {
  const int64_t length = q.size(1);
  const bool softmax = layer->options().attention == AttentionFunction::softmax;
  const double divisor = softmax ? std::sqrt(10.0) : static_cast<double>(length);
  const Tensor positions = torch::arange(length);
  const auto position = layer->rel_pos_bias;
  Tensor scores, added = torch::zeros({length, length});
  if (layer->options().position == PositionKind::tupe) {
    const Tensor none = torch::zeros({1, length, 0});
    added = torch::mm(position->queries(none, positions)[0], position->keys(none, positions)[0].t());
    scores = torch::matmul(q, k.transpose(1, 2));
  } else {
    scores = torch::matmul(position->queries(q, positions), position->keys(k, positions).transpose(1, 2));
    const auto bias = position->bias(1 - length, length - 1);
    for (int64_t i = 0; i < length && bias.values.defined(); ++i)
      added[i].copy_(bias.values.slice(0, length - 1 - i, 2 * length - 1 - i));
  }
  scores = scores / divisor + added;
  return softmax ? torch::softmax(scores, -1) : torch::relu(scores).square();
}

// Without EMA (X' = X), dropout and chunks: equations 7 to 15 from the paper, with the released split.
TEST(GatedAttention, MatchesTheEquations) {
  const torch::NoGradGuard no_grad;
  for (const auto function : {AttentionFunction::softmax, AttentionFunction::relu2}) {
    for (const auto position : kPositions) {
      BlockOptions options = small_block();
      options.ema.dimension = 0;
      options.attention = function;
      options.position = position;
      SCOPED_TRACE(describe(options));
      GatedAttention layer = make_layer(options);
      EXPECT_TRUE(layer->move.is_empty());
      for (const auto& parameter : layer->named_parameters())
        EXPECT_FALSE(contains(parameter.key(), "move")) << parameter.key();

      const Tensor x = torch::randn({2, 9, options.width});
      const auto mixed = layer->mx_proj->forward(x).split_with_sizes({11, 10, 21, 11}, -1);
      const Tensor z = torch::silu(mixed[1]);
      const Tensor q = z * layer->gamma[0] + layer->beta[0], k = z * layer->gamma[1] + layer->beta[1];
      const Tensor v = torch::silu(layer->v_proj->forward(x));
      const Tensor o = torch::matmul(weights(layer, q, k), v);
      const Tensor h = torch::silu(mixed[3] + layer->h_proj->forward(o * torch::silu(mixed[2])));
      const Tensor phi = torch::sigmoid(mixed[0]);
      const Tensor y = layer->norm->forward(phi * h + (1 - phi) * x);
      for (const auto form : {ops::Form::reference, ops::Form::fused}) {
        const ops::FormGuard guard(form);
        expect_close(layer->forward(x), y, 1e-5, "layer");
      }
    }
  }
}

TEST(GatedAttention, GradientsOfTheReference) {
  for (const auto position : {PositionKind::rotary, PositionKind::tupe}) {
    BlockOptions options = small_block();
    options.width = 3;
    options.values = 4;
    options.shared = 2;
    options.ema.dimension = 2;
    options.max_positions = 5;
    options.position = position;
    options.norm = NormKind::rms;
    options.chunk = 3;
    GatedAttention layer = make_layer(options);
    layer->to(torch::kFloat64);
    Tensors inputs = layer->parameters();
    const Tensor x = torch::randn({1, 5, 3}, torch::kFloat64).requires_grad_();
    inputs.push_back(x);
    check_gradients([&] { return Tensors{layer->forward(x)}; }, inputs);
  }
}

// Any length with any chunk size; without an EMA, chunks are independent sequences.
TEST(GatedAttention, AnyLengthWithAnyChunk) {
  for (const auto form : {ops::Form::reference, ops::Form::fused}) {
    const ops::FormGuard guard(form);
    for (const auto position :
         {PositionKind::none, PositionKind::rotary, PositionKind::t5, PositionKind::rope}) {
      for (const int64_t chunk : {1, 2, 3, 7, 16}) {
        BlockOptions options = small_block();
        options.ema.dimension = 0;
        options.position = position;
        options.chunk = chunk;
        GatedAttention layer = make_layer(options);
        for (int64_t length = 1; length <= 3 * chunk + 1; length += 1 + length / 8) {
          SCOPED_TRACE(describe(options) << " L=" << length);
          const torch::NoGradGuard no_grad;
          const Tensor x = torch::randn({2, length, options.width}), mask = random_mask(2, length);
          Tensors parts;
          for (int64_t at = 0; at < length; at += chunk) {
            const int64_t size = std::min(chunk, length - at);
            parts.push_back(layer->forward(x.narrow(1, at, size), mask.narrow(1, at, size)));
          }
          expect_close(layer->forward(x, mask), torch::cat(parts, 1), 1e-5, "chunks");
        }
      }
    }
  }
}

// Values at padded positions do not affect the others.
TEST(GatedAttention, PaddingDoesNotLeak) {
  for (const auto function : kFunctions) {
    BlockOptions options = small_block();
    options.attention = function;
    options.chunk = 4;
    GatedAttention layer = make_layer(options);
    const Tensor x = torch::randn({2, 11, options.width}), mask = random_mask(2, 11);
    const Tensor other = torch::where(mask.unsqueeze(-1), torch::randn_like(x), x);
    expect_close(unpadded(layer->forward(other, mask), mask), unpadded(layer->forward(x, mask), mask), 1e-6,
                 "y");
  }
}

// A stream in segments, or token by token, equals the whole sequence.
void check_stream(const BlockOptions& options, int64_t batch, int64_t length, bool padded,
                  std::mt19937& random) {
  SCOPED_TRACE(describe(options) << (padded ? " padded" : ""));
  const torch::NoGradGuard no_grad;
  GatedAttention layer = make_layer(options);
  layer->eval();
  const Tensor x = torch::randn({batch, length, options.width});
  const Tensor mask = padded ? random_mask(batch, length) : Tensor();
  const Tensor whole = unpadded(layer->forward(x, mask), mask);
  const std::vector<std::vector<int64_t>> ways = {{length},
                                                  random_cuts(length, 9, random),
                                                  random_cuts(length, length, random),
                                                  std::vector<int64_t>(static_cast<size_t>(length), 1)};
  for (const auto& cuts : ways) {
    GatedAttentionState state;
    const Tensor y = in_segments(
        x, mask, cuts, [&](const Tensor& part, const Tensor& m) { return layer->forward(part, m, &state); });
    expect_close(unpadded(y, mask), whole, 1e-5, "in " + std::to_string(cuts.size()) + " segments");
    EXPECT_EQ(state.position, length);
    // Only the open chunk is kept.
    const int64_t open = options.chunk > 0 ? length % options.chunk : length;
    EXPECT_EQ(state.keys.defined() ? state.keys.size(1) : 0, open);
  }
}

TEST(GatedAttention, StreamsEqualTheWhole) {
  std::mt19937 random(3);
  for (const auto form : {ops::Form::reference, ops::Form::automatic}) {
    const ops::FormGuard guard(form);
    for (const auto position : kPositions) {
      for (const auto function : kFunctions) {
        for (const int64_t chunk : {-1, 3, 8}) {
          BlockOptions options = small_causal_block();
          options.position = position;
          options.attention = function;
          options.chunk = chunk;
          options.norm = static_cast<NormKind>(random() % 4);
          options.prenorm = random() % 2;
          check_stream(options, 2, 29, random() % 2, random);
        }
      }
    }
  }
}

TEST(GatedAttention, LongStreams) {
  std::mt19937 random(4);
  for (const auto norm : {NormKind::layer, NormKind::scale, NormKind::rms, NormKind::batch}) {
    for (const bool padded : {false, true}) {
      BlockOptions options = small_causal_block();
      options.position = padded ? PositionKind::rotary : PositionKind::simple;
      options.attention = padded ? AttentionFunction::softmax : AttentionFunction::laplace;
      options.chunk = padded ? 50 : -1;
      options.norm = norm;
      check_stream(options, 1, 400, padded, random);
    }
  }
}

// With a state, kernel truncation is ignored, as released.
TEST(GatedAttention, StreamsIgnoreTruncation) {
  const torch::NoGradGuard no_grad;
  BlockOptions options = small_causal_block();
  GatedAttention whole = make_layer(options);
  options.ema.truncation = 2;
  GatedAttention truncated = make_layer(options);
  const Tensor x = torch::randn({1, 20, options.width});
  GatedAttentionState state;
  expect_close(truncated->forward(x, {}, &state), whole->forward(x), 1e-5, "stream");
  EXPECT_GT(distance(truncated->forward(x), whole->forward(x)), 1e-3);
}

// Gradients of a stream in segments flow back through the state.
TEST(GatedAttention, GradientsFlowThroughTheState) {
  for (const auto form : {ops::Form::reference, ops::Form::fused}) {
    const ops::FormGuard guard(form);
    for (const auto position : {PositionKind::rotary, PositionKind::tupe}) {
      for (const int64_t chunk : {-1, 5}) {
        BlockOptions options = small_causal_block();
        options.position = position;
        options.chunk = chunk;
        SCOPED_TRACE(describe(options));
        GatedAttention layer = make_layer(options);
        const Tensor x = torch::randn({2, 17, options.width});
        const auto whole = evaluate_module(*layer, x, [&](const Tensor& in) { return layer->forward(in); });
        const auto cut = evaluate_module(*layer, x, [&](const Tensor& in) {
          GatedAttentionState state;
          return in_segments(in, {}, {4, 1, 1, 7, 4}, [&](const Tensor& part, const Tensor& m) {
            return layer->forward(part, m, &state);
          });
        });
        expect_same(cut, whole, "stream", 1e-2);
      }
    }
  }
}

TEST(GatedAttention, DropoutOnlyInTraining) {
  BlockOptions options = small_block();
  options.dropout = options.attention_dropout = options.hidden_dropout = 0.5;
  GatedAttention layer = make_layer(options);
  const Tensor x = torch::randn({2, 12, options.width});
  EXPECT_FALSE(layer->forward(x).equal(layer->forward(x)));
  layer->eval();
  EXPECT_TRUE(layer->forward(x).equal(layer->forward(x)));
}

TEST(GatedAttention, AnErrorLeavesTheStateUnchanged) {
  BlockOptions options = small_causal_block();
  options.max_positions = 10;
  GatedAttention layer = make_layer(options);
  GatedAttentionState state;
  layer->forward(torch::randn({1, 8, options.width}), {}, &state);
  const Tensor ema = state.ema.clone();
  EXPECT_PRED2(contains, error_of([&] {
                 layer->forward(torch::randn({1, 8, options.width}), {}, &state);
               }),
               "raise max_positions");
  EXPECT_EQ(state.position, 8);
  EXPECT_TRUE(state.ema.equal(ema));
  EXPECT_EQ(state.keys.size(1), 8);
}

TEST(GatedAttention, RejectsInvalidInputs) {
  const auto message = [](const BlockOptions& options, const Tensor& x, const Tensor& mask = {},
                          GatedAttentionState state = {}, bool with_state = false) {
    return error_of([&] { make_layer(options)->forward(x, mask, with_state ? &state : nullptr); });
  };
  const BlockOptions options = small_block();
  const Tensor x = torch::randn({2, 6, 11});
  EXPECT_PRED2(contains, message(options, torch::randn({2, 6, 12})), "(batch, length, 11)");
  EXPECT_PRED2(contains, message(options, torch::randn({6, 11})), "(batch, length, 11)");
  EXPECT_PRED2(contains, message(options, Tensor()), "(batch, length, 11)");
  EXPECT_PRED2(contains, message(options, torch::randn({2, 0, 11})), "empty");
  EXPECT_PRED2(contains, message(options, x.to(torch::kFloat64)), "like the parameters");
  EXPECT_PRED2(contains, message(options, torch::ones({2, 6, 11}, torch::kInt64)), "like the parameters");
  Tensor broken = x.clone();
  broken[1][2][3] = NAN;
  EXPECT_PRED2(contains, message(options, broken), "NaN or infinite values (1 of 132)");
  broken[1][2][3] = INFINITY;
  EXPECT_PRED2(contains, message(options, broken), "NaN or infinite");
  EXPECT_PRED2(contains, message(options, x, torch::zeros({2, 6})), "must be boolean");
  EXPECT_PRED2(contains, message(options, x, torch::zeros({2, 5}, torch::kBool)), "a mask of (2, 6)");
  EXPECT_PRED2(contains, message(options, x, torch::zeros({6}, torch::kBool)), "a mask of (2, 6)");
  EXPECT_PRED2(contains, message(options, x, {}, {}, true), "causal layer with a unidirectional EMA");

  BlockOptions wrong = options;
  wrong.chunk = 0;
  EXPECT_PRED2(contains, message(wrong, x), "chunk");
  wrong = options;
  wrong.shared = 9;
  wrong.position = PositionKind::rotary;
  EXPECT_PRED2(contains, message(wrong, x), "even");
  wrong.position = PositionKind::rope;
  EXPECT_PRED2(contains, message(wrong, x), "even");
  wrong = options;
  wrong.max_positions = 5;
  for (const auto position : {PositionKind::simple, PositionKind::tupe}) {
    wrong.position = position;
    EXPECT_PRED2(contains, message(wrong, x), "raise max_positions");
  }
  wrong = options;
  wrong.causal = true;  // with a bidirectional EMA
  EXPECT_PRED2(contains, message(wrong, x), "see the future");

  // Huge values are not NaN, even if their sum is infinite.
  const ops::FormGuard guard(ops::Form::reference);
  EXPECT_NO_THROW(make_layer(options)->forward(torch::full({2, 6, 11}, 3e38)));
}

// States of another batch size, another layer, another position in the stream.
TEST(GatedAttention, RejectsStatesThatDoNotFit) {
  BlockOptions options = small_causal_block();
  options.chunk = 4;
  GatedAttention layer = make_layer(options);
  GatedAttentionState good;
  layer->forward(torch::randn({2, 6, 11}), {}, &good);
  const auto message = [&](GatedAttentionState state, int64_t batch = 2) {
    return error_of([&] { layer->forward(torch::randn({batch, 1, 11}), {}, &state); });
  };
  EXPECT_PRED2(contains, message(good, 3), "for 3 sequences");
  GatedAttentionState state = good;
  state.position = 7;
  EXPECT_PRED2(contains, message(state), "keys should be");
  state = good;
  state.values = Tensor();
  EXPECT_PRED2(contains, message(state), "missing");
  state = good;
  state.keys = state.keys.to(torch::kFloat64);
  EXPECT_PRED2(contains, message(state), "keys");
  state = good;
  state.ema = torch::zeros({2, 11, 4});
  EXPECT_PRED2(contains, message(state), "ema");
  state = good;
  state.padding = torch::zeros({2, 3}, torch::kBool);
  EXPECT_PRED2(contains, message(state), "padding");
  // At the end of a chunk only the EMA state remains, and it has the batch size.
  layer->forward(torch::randn({2, 2, 11}), {}, &good);
  EXPECT_FALSE(good.keys.defined());
  EXPECT_PRED2(contains, message(good, 3), "for 3 sequences");
  EXPECT_NO_THROW(layer->forward(torch::randn({2, 1, 11}), {}, &good));
}

}  // namespace
}  // namespace mega::nn
