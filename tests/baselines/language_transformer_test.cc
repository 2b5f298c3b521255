// The Transformer language model: causality, streams, ALiBi against its paper, and cost estimates.
#include "mega/baselines/language_transformer.h"

#include <gtest/gtest.h>

#include <random>

#include "mega/baselines/alibi.h"
#include "mega/config/cost.h"
#include "mega/config/parameter_count.h"
#include "mega/models/language_model.h"
#include "mega/ops/form.h"
#include "tests/base/helpers.h"
#include "tests/counting_allocator.h"
#include "tests/gradcheck.h"
#include "tests/models/helpers.h"
#include "tests/nn/helpers.h"

namespace mega::baselines {
namespace {

using testing::contains;
using testing::difference;
using testing::error_of;
using testing::random_tokens;
using testing::with_large_weights;
using torch::Tensor;

const bool kCounts = testing::CountingAllocator::install();

constexpr TransformerPositions kPositionKinds[] = {TransformerPositions::sinusoidal,
                                                   TransformerPositions::alibi};

TransformerLanguageOptions tiny(TransformerPositions positions) {
  TransformerLanguageOptions options;
  options.vocabulary = 12;
  options.layers = 2;
  options.width = 12;
  options.hidden = 10;
  options.heads = 3;
  options.positions = positions;
  options.dropout = 0.0;
  return options;
}

LanguageTransformer large_weights(const TransformerLanguageOptions& options, uint64_t seed) {
  torch::manual_seed(seed);
  return with_large_weights(LanguageTransformer(options));
}

// (B, L) mask with the last `counts[b]` positions of each row padded.
Tensor padded_at_end(std::vector<int64_t> counts, int64_t length) {
  const Tensor first = length - testing::lengths(counts).unsqueeze(1);
  return torch::arange(length).unsqueeze(0) >= first;
}

TEST(LanguageTransformer, IsCausal) {
  for (const ops::Form form : {ops::Form::reference, ops::Form::fused})
    for (const auto positions : kPositionKinds) {
      const ops::FormGuard guard(form);
      LanguageTransformer model = large_weights(tiny(positions), 1);
      const Tensor tokens = random_tokens(2, 20), before = model->features(tokens);
      for (const int64_t at : {0, 7, 19}) {
        Tensor changed = tokens.clone();
        changed.select(1, at).copy_(13 - changed.select(1, at));  // maps 2..11 onto 11..2: all change
        const Tensor after = model->features(changed);
        if (at > 0) {
          EXPECT_EQ(difference(after.slice(1, 0, at), before.slice(1, 0, at)), 0.0);
        }
        for (int64_t later = at; later < 20; ++later)
          EXPECT_GT(difference(after.select(1, later), before.select(1, later)), 1e-4) << at << " " << later;
      }
    }
}

TEST(LanguageTransformer, GradientsAreRight) {
  const ops::FormGuard guard(ops::Form::reference);
  for (const auto positions : kPositionKinds) {
    TransformerLanguageOptions options = tiny(positions);
    options.layers = 1;
    LanguageTransformer model = large_weights(options, 9);
    model->to(torch::kFloat64);
    const Tensor tokens = random_tokens(1, 9), targets = random_tokens(1, 9).flatten();
    check_gradients(
        [&] { return std::vector<Tensor>{model->losses(model->features(tokens).flatten(0, 1), targets)}; },
        model->parameters());
  }
}

TEST(LanguageTransformer, DependsOnTheOrderOfTokens) {
  for (const auto positions : kPositionKinds) {
    LanguageTransformer model = large_weights(tiny(positions), 2);
    const Tensor tokens = torch::tensor({{2, 3, 4, 5, 6}}, torch::kInt64);
    const Tensor swapped = torch::tensor({{3, 2, 4, 5, 6}}, torch::kInt64);
    EXPECT_GT(difference(model->features(tokens).select(1, 4), model->features(swapped).select(1, 4)), 1e-3);
  }
}

TEST(LanguageTransformer, SegmentsEqualTheWhole) {
  std::mt19937 random(3);
  const torch::NoGradGuard no_gradients;
  for (const ops::Form form : {ops::Form::reference, ops::Form::fused})
    for (const auto positions : kPositionKinds)
      for (const bool padded : {false, true}) {
        const ops::FormGuard guard(form);
        LanguageTransformer model = large_weights(tiny(positions), 3);
        const Tensor tokens = random_tokens(3, 90);
        Tensor mask;
        if (padded) {
          mask = padded_at_end({0, 30, 5}, 90);
          mask.slice(1, 20, 23) = true;  // in the middle, as in a batch of texts of which some have ended
        }
        const Tensor whole = model->features(tokens, mask);
        for (const int64_t longest : {1, 9, 60}) {
          nn::State state;
          const Tensor cut = testing::in_segments(
              tokens, mask, testing::random_cuts(90, longest, random),
              [&](const Tensor& x, const Tensor& m) { return model->features(x, m, &state); });
          EXPECT_LT(testing::distance(cut, whole), 1e-5) << "up to " << longest;
          EXPECT_EQ(state.blocks.at(1).attention.position, 90);
        }
      }
}

TEST(LanguageTransformer, AStateIsAValue) {
  LanguageTransformer model = large_weights(tiny(TransformerPositions::alibi), 4);
  const torch::NoGradGuard no_gradients;
  const Tensor tokens = random_tokens(2, 9), next = random_tokens(2, 3);
  nn::State state;
  model->features(tokens, {}, &state);
  const nn::State kept = state;
  const Tensor once = model->features(next, {}, &state);
  nn::State copy = kept;
  EXPECT_EQ(difference(model->features(next, {}, &copy), once), 0.0);
  // Beams: rows are reordered.
  const Tensor order = testing::lengths({1, 1, 0});
  nn::State beams = nn::reorder(kept, order);
  EXPECT_LT(difference(model->features(next.index_select(0, order), {}, &beams), once.index_select(0, order)),
            1e-5);

  // States that do not fit are rejected and left unchanged.
  nn::State same = kept;
  const auto error = [&](const Tensor& x, nn::State s) {
    return error_of([&] { model->features(x, {}, &s); });
  };
  EXPECT_PRED2(contains, error(random_tokens(3, 2), same), "keys and values for 3 sequences");
  nn::State far;
  far.blocks.resize(2);
  far.blocks[0].attention.position = int64_t{1} << 50;
  EXPECT_PRED2(contains, error(next, far), "does not hold keys");
  same.blocks[1].attention.position = 4;
  EXPECT_PRED2(contains, error(next, same), "the state at position 4");
  same = kept;
  same.blocks.pop_back();
  EXPECT_PRED2(contains, error(next, same), "the state has 1 blocks, the model 2");
  same = kept;
  same.blocks[1].attention.keys = Tensor();
  EXPECT_PRED2(contains, error_of([&] { model->features(next, {}, &same); }), "does not hold keys");
  EXPECT_EQ(same.blocks[0].attention.position, 9) << "the first layer succeeded, the second failed";
}

TEST(LanguageTransformer, PaddingDoesNotLeak) {
  for (const ops::Form form : {ops::Form::reference, ops::Form::fused})
    for (const auto positions : kPositionKinds) {
      const ops::FormGuard guard(form);
      LanguageTransformer model = large_weights(tiny(positions), 5);
      const Tensor tokens = random_tokens(3, 21), mask = padded_at_end({0, 16, 20}, 21);
      const Tensor together = model->features(tokens, mask);
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t length = 21 - mask[i].sum().item<int64_t>();
        const Tensor alone = model->features(tokens.narrow(0, i, 1).slice(1, 0, length));
        EXPECT_LT(testing::distance(together.narrow(0, i, 1).slice(1, 0, length), alone), 1e-5);
        EXPECT_EQ(together[i].slice(0, length).abs().sum().item<double>(), 0.0);
      }
      // Leading padding is hidden as well: with ALiBi, positions are relative.
      if (positions != TransformerPositions::alibi) continue;
      const Tensor in_front = torch::cat({torch::full({1, 4}, 1, torch::kInt64), tokens.narrow(0, 0, 1)}, 1);
      const Tensor hidden = (torch::arange(25) < 4).unsqueeze(0);
      EXPECT_LT(testing::distance(model->features(in_front, hidden).slice(1, 4), together.narrow(0, 0, 1)),
                2e-5);
    }
}

TEST(Alibi, SlopesAreThoseOfThePaper) {
  const std::vector<double> eight = alibi_slopes(8);
  for (size_t h = 0; h < 8; ++h) EXPECT_DOUBLE_EQ(eight[h], std::exp2(-static_cast<double>(h + 1)));
  EXPECT_EQ(alibi_slopes(1), std::vector<double>{std::exp2(-8.0)});
  // The slopes of 4 heads, then the 1st and 3rd of 8.
  const std::vector<double> expected = {1. / 4, 1. / 16, 1. / 64, 1. / 256, 1. / 2, 1. / 8};
  EXPECT_EQ(alibi_slopes(6), expected);
}

// One layer in double, position by position as in the papers.
Tensor dense_layer(LanguageTransformer& model, const std::string& layer, const Tensor& x) {
  auto named = model->named_parameters();
  const auto weight = [&](const std::string& name) { return named["decoder." + layer + name]; };
  const auto linear = [&](const std::string& name, const Tensor& y) {
    return torch::linear(y, weight(name + ".weight"), weight(name + ".bias"));
  };
  const auto norm = [&](const std::string& name, const Tensor& y) {
    return torch::layer_norm(y, {12}, weight(name + ".weight"), weight(name + ".bias"));
  };
  const Tensor y = norm("self_attn_layer_norm", x);
  const Tensor q = linear("self_attn.q_proj", y), k = linear("self_attn.k_proj", y),
               v = linear("self_attn.v_proj", y);
  const Tensor position = torch::arange(x.size(1), torch::kFloat64);
  const Tensor offset = position.unsqueeze(0) - position.unsqueeze(1);  // key - query
  const double slopes[] = {1. / 16, 1. / 256, 1. / 4};                  // of 2 heads, and the first of 4
  std::vector<Tensor> heads;
  for (int64_t h = 0; h < 3; ++h) {
    const auto mine = [&](const Tensor& z) { return z.narrow(2, 4 * h, 4); };
    const Tensor scores = torch::matmul(mine(q), mine(k).transpose(1, 2)) / 2.0 + slopes[h] * offset;
    const Tensor seen = scores.masked_fill(offset > 0, -std::numeric_limits<double>::infinity());
    heads.push_back(torch::matmul(torch::softmax(seen, -1), mine(v)));
  }
  const Tensor z = x + linear("self_attn.out_proj", torch::cat(heads, 2));
  return z + linear("fc2", torch::relu(linear("fc1", norm("final_layer_norm", z))));
}

TEST(LanguageTransformer, AlibiMatchesThePaper) {
  LanguageTransformer model = large_weights(tiny(TransformerPositions::alibi), 6);
  const Tensor tokens = random_tokens(2, 150), fused = model->features(tokens);
  model->to(torch::kFloat64);
  auto named = model->named_parameters();
  Tensor x = torch::embedding(named["decoder.embed_tokens.weight"], tokens) * std::sqrt(12.0);
  for (const char* layer : {"layers.0.", "layers.1."}) x = dense_layer(model, layer, x);
  const Tensor expected =
      torch::layer_norm(x, {12}, named["decoder.layer_norm.weight"], named["decoder.layer_norm.bias"]);
  EXPECT_LT(testing::distance(fused, expected), 2e-5);
  EXPECT_LT(testing::distance(model->features(tokens), expected), 1e-12) << "the reference form, in double";
}

TEST(LanguageTransformer, GradientsReachEveryParameterInBothForms) {
  for (const auto positions : kPositionKinds) {
    TransformerLanguageOptions options = tiny(positions);
    options.dropout = options.attention_dropout = options.activation_dropout = 0.2;
    LanguageTransformer model = large_weights(options, 7);
    model->train();
    const Tensor tokens = random_tokens(3, 40), targets = random_tokens(3, 40).flatten();
    std::vector<Tensor> gradients;
    for (const ops::Form form : {ops::Form::reference, ops::Form::fused}) {
      const ops::FormGuard guard(form);
      model->zero_grad();
      torch::manual_seed(8);
      model->losses(model->features(tokens).flatten(0, 1), targets).mean().backward();
      std::vector<Tensor> all;
      for (const auto& item : model->named_parameters()) {
        const Tensor& gradient = item.value().grad();
        if (item.key().ends_with("k_proj.bias")) {  // no effect under softmax
          EXPECT_FALSE(gradient.defined()) << item.key();
          continue;
        }
        ASSERT_TRUE(gradient.defined()) << item.key();
        EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << item.key();
        EXPECT_GT(gradient.abs().max().item<double>(), 0.0) << item.key();
        all.push_back(gradient.flatten());
      }
      gradients.push_back(torch::cat(all).clone());
    }
    EXPECT_LT(testing::distance(gradients[1], gradients[0]), 1e-4) << to_string(positions);
  }
}

TEST(LanguageTransformer, PredictsWithPlainAndAdaptiveOutput) {
  for (const bool adaptive : {false, true}) {
    TransformerLanguageOptions options = tiny(TransformerPositions::sinusoidal);
    if (adaptive) {
      options.cutoffs = {4, 8};
      options.band_factor = 2;
    }
    LanguageTransformer model = large_weights(options, 9);
    const Tensor features = model->features(random_tokens(2, 7)).flatten(0, 1);
    const Tensor targets = random_tokens(2, 7).flatten(), log_p = model->log_probabilities(features);
    EXPECT_EQ(log_p.sizes(), torch::IntArrayRef({14, 12}));
    EXPECT_LT(difference(log_p.exp().sum(1), torch::ones({14})), 1e-5);
    const Tensor own = -log_p.gather(1, targets.unsqueeze(1)).squeeze(1);
    EXPECT_LT(difference(model->losses(features, targets), own), 1e-4);
  }
}

TEST(LanguageTransformer, InitialisedLikeBert) {
  TransformerLanguageOptions options;
  options.layers = 1;
  options.width = 256;
  torch::manual_seed(10);
  LanguageTransformer model(options);
  for (const auto& item : model->named_parameters()) {
    if (!item.key().starts_with("decoder.layer")) continue;
    SCOPED_TRACE(item.key());
    const bool norm = item.key().find("norm.weight") != std::string::npos;
    if (item.value().dim() == 1)
      EXPECT_TRUE((item.value() == (norm ? 1 : 0)).all().item<bool>());
    else
      EXPECT_NEAR(item.value().std().item<double>(), 0.02, 0.0005);
  }
}

TEST(LanguageTransformer, HasAsManyParametersAsMega) {
  LanguageModelOptions mega;
  mega.vocabulary = 5000;
  mega.layers = 3;
  mega.block.width = 128;
  mega.block.values = 256;
  mega.block.shared = 64;
  mega.block.hidden = 256;
  mega.block.chunk = 64;
  const auto ours = static_cast<double>(count_parameters({mega}).total);
  const auto theirs = static_cast<double>(count_parameters(*baseline_of({mega}, "transformer")).total);
  EXPECT_NEAR(theirs / ours, 1.0, 0.02) << ours << " and " << theirs;
}

TEST(LanguageTransformer, RejectsInvalidInputs) {
  LanguageTransformer model(tiny(TransformerPositions::sinusoidal));
  const auto error = [&](const Tensor& tokens, const Tensor& mask = {}) {
    return error_of([&] { model->features(tokens, mask); });
  };
  EXPECT_PRED2(contains, error(torch::full({2, 6}, 12, torch::kInt64)), "token 12 is outside 0 to 11");
  EXPECT_PRED2(contains, error(torch::randn({2, 6})), "int64");
  EXPECT_PRED2(contains, error(random_tokens(2, 6), torch::zeros({2, 5}, torch::kBool)), "mask of (2, 6)");
}

TEST(Cost, OfALanguageModelByHand) {
  TransformerLanguageOptions options;
  options.vocabulary = 100;
  options.layers = 3;
  options.width = 8;
  options.hidden = 20;
  EXPECT_EQ(options.multiply_adds(49), 3 * (4 * 8 * 8 + 2 * 8 * 20 + 2 * 25 * 8) + 100 * 8);
  options.cutoffs = {10, 50};
  EXPECT_EQ(options.multiply_adds(49), 3 * (4 * 8 * 8 + 2 * 8 * 20 + 2 * 25 * 8) + 12 * 8);
}

TEST(Cost, LanguageModelMemoryEstimateIsNearTheMeasurement) {
  ASSERT_TRUE(kCounts);
  struct Case {
    int64_t vocabulary, layers, width, hidden, length, batch;
  };
  for (const Case& c : {Case{264, 3, 64, 256, 800, 3}, Case{264, 2, 64, 64, 500, 2},
                        Case{8000, 2, 64, 128, 600, 2}, Case{264, 2, 32, 512, 1000, 2}}) {
    TransformerLanguageOptions options;
    options.vocabulary = c.vocabulary;
    options.layers = c.layers;
    options.width = c.width;
    options.hidden = c.hidden;
    LanguageTransformer model(options);
    const auto step = [&](int64_t length) {
      const Tensor tokens = torch::randint(4, c.vocabulary, {c.batch, length}, torch::kInt64);
      model->losses(model->features(tokens).flatten(0, 1), tokens.flatten()).sum().backward();
    };
    step(16);  // allocates gradients before the measurement
    const double truth = testing::CountingAllocator::growth([&] { step(c.length); });
    const double estimate = options.activation_bytes(c.length, c.batch);
    EXPECT_NEAR(estimate / truth, 1.0, 0.3)
        << c.vocabulary << " " << c.hidden << ": " << estimate << " estimated, " << truth;
  }
}

}  // namespace
}  // namespace mega::baselines
