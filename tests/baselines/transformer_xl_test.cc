// Transformer-XL: streams, causality, memory, relative positions against their formula, gradients, sizes.
#include "mega/baselines/transformer_xl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "mega/baselines/model_builders.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/presets.h"
#include "mega/ops/form.h"
#include "tests/base/helpers.h"
#include "tests/compare.h"
#include "tests/gradcheck.h"
#include "tests/models/helpers.h"
#include "tests/nn/helpers.h"

namespace mega::baselines {
namespace {

using testing::contains;
using testing::difference;
using testing::distance;
using testing::error_of;
using testing::random_tokens;
using torch::Tensor;

TransformerXlOptions tiny() {
  TransformerXlOptions options;
  options.vocabulary = 12;
  options.layers = 2;
  options.width = 8;
  options.heads = 2;
  options.head_width = 3;
  options.hidden = 10;
  options.scoring.positions = 100;
  options.segment = 100;
  options.dropout = 0.0;
  return options;
}

TransformerXlOptions adaptive() {
  TransformerXlOptions options = tiny();
  options.cutoffs = {4, 8};
  options.band_factor = 2;
  return options;
}

TransformerXl large_weights(const TransformerXlOptions& options) {
  torch::manual_seed(1);
  return testing::with_large_weights(TransformerXl(options));
}

// A memory that holds everything, and a text in pieces, is the text at once.
TEST(TransformerXl, SegmentsEqualTheWhole) {
  const torch::NoGradGuard no_gradients;
  std::mt19937 random(2);
  for (const bool prenorm : {false, true})
    for (const int64_t clamp : {0, 9})
      for (const ops::Form form : {ops::Form::reference, ops::Form::fused}) {
        const ops::FormGuard guard(form);
        TransformerXlOptions options = tiny();
        options.prenorm = prenorm;
        options.scoring.clamp = clamp;
        TransformerXl model = large_weights(options);
        const Tensor tokens = random_tokens(2, 60), whole = model->features(tokens);
        for (const int64_t longest : {1, 7, 40}) {
          nn::State state;
          const Tensor cut = testing::in_segments(
              tokens, {}, testing::random_cuts(60, longest, random),
              [&](const Tensor& x, const Tensor&) { return model->features(x, {}, &state); });
          EXPECT_LT(distance(cut, whole), 2e-5) << "up to " << longest;
          EXPECT_EQ(state.blocks.at(1).attention.position, 60);
        }
      }
}

TEST(TransformerXl, IsCausal) {
  TransformerXl model = large_weights(tiny());
  const Tensor tokens = random_tokens(2, 20), before = model->features(tokens);
  for (const int64_t at : {1, 7, 19}) {
    Tensor changed = tokens.clone();
    changed.slice(1, at).copy_(13 - changed.slice(1, at));
    const Tensor moved = (model->features(changed) - before).abs();
    EXPECT_EQ(moved.slice(1, 0, at).max().item<double>(), 0.0);
    EXPECT_GT(moved.slice(1, at).max().item<double>(), 1e-3);
  }
}

TEST(TransformerXl, KeepsTheLastOfItsMemory) {
  TransformerXlOptions options = tiny();
  options.scoring.positions = 5;
  TransformerXl model = large_weights(options);
  nn::State state;
  model->features(random_tokens(2, 3), {}, &state);
  EXPECT_EQ(state.blocks[0].attention.ema.sizes(), torch::IntArrayRef({2, 3, 8}));
  model->features(random_tokens(2, 9), {}, &state);
  EXPECT_EQ(state.blocks[0].attention.ema.sizes(), torch::IntArrayRef({2, 5, 8}));
  EXPECT_FALSE(state.blocks[1].attention.ema.requires_grad());
  const nn::State kept = state;
  const Tensor next = random_tokens(2, 4), once = model->features(next, {}, &state);
  nn::State copy = kept;
  EXPECT_EQ(difference(model->features(next, {}, &copy), once), 0.0) << "a state is a value";
  EXPECT_PRED2(contains, error_of([&] { model->features(random_tokens(3, 4), {}, &copy); }),
               "does not fit 3 texts");
  copy.blocks.pop_back();
  EXPECT_PRED2(contains, error_of([&] { model->features(next, {}, &copy); }), "has 1 blocks, the model 2");

  const torch::NoGradGuard no_gradients;  // keys and values are kept
  nn::State whole;
  model->features(next, {}, &whole);
  const auto refuses = [&](const std::function<void(nn::GatedAttentionState&)>& damage) {
    nn::State damaged = whole;
    damage(damaged.blocks[1].attention);
    return contains(error_of([&] { model->features(next, {}, &damaged); }), "memory does not fit 2 texts");
  };
  EXPECT_TRUE(refuses([](auto& memory) { memory.keys.reset(); }));
  EXPECT_TRUE(refuses([](auto& memory) { memory.ema.reset(); }));
  EXPECT_TRUE(refuses([](auto& memory) { memory.values = memory.values.slice(1, 1); }));
  EXPECT_TRUE(refuses([](auto& memory) { memory.keys = memory.values = memory.keys.slice(2, 1); }));
}

// Every query sees as many keys: of a memory of 6 and segments of 4, the last 6 and itself at most.
TEST(TransformerXl, SameLengthForgetsWhatIsFar) {
  TransformerXlOptions options = tiny();
  options.layers = 1;
  options.scoring.positions = 6;
  options.scoring.same_length = true;
  TransformerXl model = large_weights(options);
  nn::State state;
  model->features(random_tokens(1, 6), {}, &state);
  const Tensor next = random_tokens(1, 4);
  nn::State first = state, second = state;
  second.blocks[0].attention.ema = state.blocks[0].attention.ema.clone();
  second.blocks[0].attention.ema.narrow(1, 0, 1).normal_();
  const Tensor moved =
      (model->features(next, {}, &first) - model->features(next, {}, &second)).abs().amax({0, 2});
  // Keys are 10, so that s = 4 - (10 - 6) = 0: key 0 is hidden from every query.
  EXPECT_EQ(moved.max().item<double>(), 0.0);
  second = state;
  second.blocks[0].attention.ema = state.blocks[0].attention.ema.clone();
  second.blocks[0].attention.ema.narrow(1, 2, 1).normal_();
  first = state;
  const Tensor later =
      (model->features(next, {}, &first) - model->features(next, {}, &second)).abs().amax({0, 2});
  EXPECT_GT(later[0].item<double>(), 1e-4) << "two keys later, seen by the first two queries";
  EXPECT_EQ(later[3].item<double>(), 0.0);
}

TEST(TransformerXl, ScoresDependOnTheDistance) {
  TransformerXlOptions options = tiny();
  options.layers = 1;
  options.heads = 1;
  options.width = 4;
  torch::manual_seed(3);
  TransformerXlLayer layer(options);
  for (Tensor& parameter : layer->parameters()) {
    const torch::NoGradGuard guard;
    parameter.add_(torch::randn_like(parameter), 0.3);
  }
  layer->to(torch::kFloat64);
  const Tensor x = torch::randn({1, 5, 4}, torch::kFloat64),
               memory = torch::randn({1, 3, 4}, torch::kFloat64);
  const Tensor distances = torch::randn({8, 4}, torch::kFloat64);  // of 7 to 0
  const QueryBiases biases{torch::randn({1, 3}, torch::kFloat64), torch::randn({1, 3}, torch::kFloat64)};
  const Tensor y = layer->forward(x, layer->keys_values(torch::cat({memory, x}, 1)),
                                  layer->project_distances(distances), biases);

  auto named = layer->named_parameters();
  const auto weight = [&](const std::string& name) { return named["dec_attn." + name + ".weight"]; };
  const Tensor all = torch::cat({memory, x}, 1)[0], qkv = torch::matmul(all, weight("qkv_net").t());
  const Tensor q = qkv.narrow(1, 0, 3), k = qkv.narrow(1, 3, 3), v = qkv.narrow(1, 6, 3);
  const Tensor r = torch::matmul(distances, weight("r_net").t());
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < 5; ++i) {
    std::vector<Tensor> scores;
    for (int64_t j = 0; j <= 3 + i; ++j)
      scores.push_back(((q[3 + i] + biases.content[0]).dot(k[j]) +
                        (q[3 + i] + biases.distance[0]).dot(r[7 - (3 + i - j)])) /
                       std::sqrt(3.0));
    rows.push_back(torch::matmul(torch::softmax(torch::stack(scores), 0), v.narrow(0, 0, 4 + i)));
  }
  const auto norm = [&](const std::string& name, const Tensor& z) {
    return torch::layer_norm(z, {4}, named[name + ".layer_norm.weight"], named[name + ".layer_norm.bias"]);
  };
  const auto linear = [&](const std::string& name, const Tensor& z) {
    return torch::linear(z, named["pos_ff.CoreNet." + name + ".weight"],
                         named["pos_ff.CoreNet." + name + ".bias"]);
  };
  const Tensor z = norm("dec_attn", x[0] + torch::matmul(torch::stack(rows), weight("o_net").t()));
  EXPECT_LT(distance(y[0], norm("pos_ff", z + linear("3", torch::relu(linear("0", z))))), 1e-12);
}

TEST(TransformerXl, PredictsADistribution) {
  for (const TransformerXlOptions& options : {tiny(), adaptive()}) {
    TransformerXl model = large_weights(options);
    const Tensor features = model->features(random_tokens(2, 7)).flatten(0, 1);
    const Tensor targets = random_tokens(2, 7).flatten(), log_p = model->log_probabilities(features);
    EXPECT_EQ(log_p.sizes(), torch::IntArrayRef({14, 12}));
    EXPECT_LT(difference(log_p.exp().sum(1), torch::ones({14})), 1e-5);
    const Tensor own = -log_p.gather(1, targets.unsqueeze(1)).squeeze(1);
    EXPECT_LT(difference(model->losses(features, targets), own), 1e-4);
  }
}

TEST(TransformerXl, GradientsMatchFiniteDifferences) {
  const ops::FormGuard guard(ops::Form::reference);
  for (TransformerXlOptions options : {tiny(), adaptive()}) {
    options.layers = 1;
    TransformerXl model = large_weights(options);
    model->to(torch::kFloat64);
    const Tensor tokens = random_tokens(1, 9), targets = random_tokens(1, 9).flatten();
    check_gradients(
        [&] { return std::vector<Tensor>{model->losses(model->features(tokens).flatten(0, 1), targets)}; },
        model->parameters());
  }
}

TEST(TransformerXl, HasThePublishedSize) {
  const auto count = [](const char* preset, int64_t vocabulary) {
    ModelOptions options = load_preset(preset).model;
    token_options(options)->vocabulary = vocabulary;
    return count_parameters(options).total;
  };
  EXPECT_EQ(count("enwik8-transformer-xl", 204), 41'055'436);
  EXPECT_EQ(count("wikitext103-transformer-xl", 267'735), 285'170'506) << "as released; the paper says 257M";
}

// In evaluation a text is read in the model's segments, however it is cut; where every query sees as many
// keys, the segments do not matter either.
TEST(TransformerXl, ReadsInItsOwnSegments) {
  const torch::NoGradGuard no_gradients;
  TransformerXlOptions options = tiny();
  options.segment = 4;
  options.scoring.positions = 6;
  TransformerXl model = large_weights(options);
  const Tensor tokens = random_tokens(2, 24);
  nn::State whole, cut;
  std::vector<Tensor> pieces;
  for (const Tensor& piece : tokens.split(4, 1)) pieces.push_back(model->features(piece, {}, &cut));
  EXPECT_LT(difference(model->features(tokens, {}, &whole), torch::cat(pieces, 1)), 1e-5);
  EXPECT_GT(difference(model->features(tokens), torch::cat(pieces, 1)), 1e-3) << "its memory is short";
  options.scoring.same_length = true;
  Tensor first;
  for (const int64_t segment : {1, 4, 5, 24}) {
    options.segment = segment;
    TransformerXl same = large_weights(options);
    nn::State state;
    const Tensor features = same->features(tokens, {}, &state);
    if (!first.defined()) first = features;
    EXPECT_LT(distance(features, first), 2e-5) << segment;
  }
}

// Keys and values of the memory are kept where no gradients are asked for. A state without them, of training
// or of an earlier version, goes on all the same, and one with them in training.
TEST(TransformerXl, KeysAndValuesAreThoseOfTheMemory) {
  for (const bool prenorm : {false, true}) {
    TransformerXlOptions options = tiny();
    options.prenorm = prenorm;
    options.scoring.positions = options.training.positions = 6;
    TransformerXl model = large_weights(options);
    const Tensor before = random_tokens(2, 9), next = random_tokens(2, 5), last = random_tokens(2, 4);
    nn::State with, without;
    const auto read = [&](const Tensor& tokens, nn::State& state, bool gradients) {
      const torch::AutoGradMode mode(gradients);
      return model->features(tokens, {}, &state);
    };
    EXPECT_LT(difference(read(before, with, false), read(before, without, true)), 1e-5);
    EXPECT_EQ(with.blocks[0].attention.keys.sizes(), torch::IntArrayRef({2, 6, 6}));
    EXPECT_FALSE(without.blocks[0].attention.keys.defined());
    EXPECT_LT(difference(read(next, with, false), read(next, without, true)), 1e-5);
    EXPECT_LT(difference(read(last, with, true), read(last, without, false)), 1e-5);
    EXPECT_FALSE(with.blocks[0].attention.keys.defined());
  }
}

TEST(TransformerXl, RemembersInTrainingWhatItIsToldTo) {
  TransformerXlOptions options = tiny();
  options.training.positions = 3;
  TransformerXl model = large_weights(options);
  model->train();
  nn::State state;
  model->features(random_tokens(2, 9), {}, &state);
  EXPECT_EQ(state.blocks[0].attention.ema.size(1), 3);
  const Tensor features = model->features(random_tokens(2, 9), {}, &state);
  features.sum().backward();
  EXPECT_FALSE(state.blocks[0].attention.ema.requires_grad());
}

TEST(TransformerXl, PaddingIsAtTheEnd) {
  TransformerXl model = large_weights(tiny());
  const Tensor tokens = random_tokens(1, 8), whole = model->features(tokens);
  Tensor mask = torch::zeros({1, 8}, torch::kBool);
  mask.slice(1, 6).fill_(true);
  const Tensor padded = model->features(tokens, mask);
  EXPECT_EQ(difference(padded.slice(1, 0, 6), whole.slice(1, 0, 6)), 0.0);
  EXPECT_EQ(padded.slice(1, 6).abs().max().item<double>(), 0.0);
  EXPECT_PRED2(contains, error_of([&] { model->features(tokens, mask.logical_not()); }),
               "padding must be at the end");
}

// `--set model.kind=transformer-xl`: the published model of a preset or one as large as Mega, trained with
// its memory.
TEST(TransformerXl, TakesThePlaceOfAMegaModel) {
  Recipe published = load_preset("enwik8");
  change(published, "model.kind=transformer-xl");
  EXPECT_EQ(count_parameters(published.model).total,
            count_parameters(load_preset("enwik8-transformer-xl").model).total);
  for (const char* name : {"bytes-small", "words-small"}) {
    Recipe recipe = load_preset(name);
    const auto ours = static_cast<double>(count_parameters(recipe.model).total);
    change(recipe, "model.kind=transformer-xl");
    EXPECT_NEAR(static_cast<double>(count_parameters(recipe.model).total) / ours, 1.0, 0.03) << name;
    EXPECT_TRUE(recipe.train.blocks.carry);
    EXPECT_EQ(recipe.train.blocks.chunk, recipe.model.kind().reading().memory);
    const auto model = make_token_model(recipe.model);
    EXPECT_EQ(model->features(random_tokens(1, 5)).size(1), 5);
  }
  EXPECT_FALSE(baseline_of(load_preset("lra-text").model, "transformer-xl").has_value());
}

TEST(TransformerXl, RejectsInvalidOptions) {
  TransformerXlOptions options = tiny();
  options.width = 7;
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{options}); }), "even width");
  options = adaptive();
  options.cutoffs = {4, 12};
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{options}); }), "below the vocabulary");
  options = tiny();
  options.segment = 0;
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{options}); }), "segment");
}

TEST(TransformerXl, RejectsInvalidInputs) {
  TransformerXl model = large_weights(tiny());
  EXPECT_PRED2(contains, error_of([&] {
                 model->features(torch::full({1, 3}, 12, torch::kInt64));
               }),
               "token 12 is outside 0 to 11");
  EXPECT_PRED2(contains, error_of([&] { model->features(torch::zeros({3}, torch::kInt64)); }),
               "(batch, length)");
}

}  // namespace
}  // namespace mega::baselines
