// The Long Range Arena's Transformers: padding, both forms, gradients, published sizes, cost, and each
// attention against what it approximates.
#include "mega/baselines/arena_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "mega/baselines/bigbird.h"
#include "mega/baselines/linformer.h"
#include "mega/baselines/performer.h"
#include "mega/baselines/reformer.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/presets.h"
#include "mega/ops/attention.h"
#include "mega/ops/form.h"
#include "mega/ops/heads.h"
#include "mega/ops/linear_attention.h"
#include "tests/base/helpers.h"
#include "tests/baselines/classifiers.h"

namespace mega::baselines {
namespace {

using models::Sequences;
using testing::contains;
using testing::difference;
using testing::distance;
using testing::error_of;
using testing::lengths;
using testing::random_tokens;
using torch::Tensor;

const bool kCounts = testing::CountingAllocator::install();

template <class Options>
Options tiny() {
  Options options = testing::tiny_classifier<Options>();
  options.hidden = 10;
  options.heads = 2;
  return options;
}

struct Kind {
  std::string name;
  ModelOptions options;
  bool any_padding = true;  // longer padding changes nothing
};

// Small enough that the patterns of blocks and buckets have several of them at length 40.
std::vector<Kind> kinds() {
  ArenaTransformerOptions transformer = tiny<ArenaTransformerOptions>();
  transformer.attention_dropout = 0.0;
  PerformerOptions performer = tiny<PerformerOptions>(), favor = performer;
  favor.kernel = PerformerKernel::favor;
  favor.features = 6;
  LinformerOptions linformer = tiny<LinformerOptions>();
  linformer.attention_dropout = 0.0;
  linformer.rank = 5;
  linformer.max_positions = 60;
  BigBirdOptions bigbird = tiny<BigBirdOptions>();
  bigbird.attention_dropout = 0.0;
  bigbird.block = 4;
  bigbird.random_blocks = 2;
  ReformerOptions arena = tiny<ReformerOptions>(), article = arena;
  arena.buckets = 4;
  article.form = ReformerForm::article;
  article.bucket_size = 5;
  return {{"transformer", {transformer}},         {"performer", {performer}},
          {"performer, favor", {favor}},          {"linformer", {linformer}},
          {"bigbird", {bigbird}, false},          {"reformer", {arena}, false},
          {"reformer, article", {article}, false}};
}

TEST(ArenaModel, PaddingDoesNotMatter) {
  for (const Kind& kind : kinds()) testing::expect_padding_is_ignored(kind.options, kind.any_padding);
}

TEST(ArenaModel, FormsAgree) {
  for (Kind& kind : kinds()) {
    auto* weighted = dynamic_cast<WeightedArenaOptions*>(&kind.options.kind());
    if (weighted != nullptr) weighted->attention_dropout = 0.2;
    dynamic_cast<ArenaOptions&>(kind.options.kind()).dropout = 0.2;
    testing::expect_forms_agree(kind.options);
  }
}

TEST(ArenaModel, GradientsMatchFiniteDifferences) {
  // The largest exponent of FAVOR+ carries no gradient, as published: its gradients are those of golden
  // files.
  for (const Kind& kind : kinds())
    if (kind.name != "performer, favor") testing::expect_right_gradients(kind.options, "blocks.0.attn.");
}

TEST(ArenaModel, AnyLengthWorks) {
  const torch::NoGradGuard no_gradients;
  for (const Kind& kind : kinds()) {
    const auto model = testing::model_with_large_weights(kind.options);
    for (const int64_t length : {1, 2, 9, 20, 39, 59})
      EXPECT_TRUE(model->predict({{random_tokens(2, length), {}}}).isfinite().all().item<bool>())
          << kind.name << ", " << length;
  }
}

TEST(ArenaModel, ComparesTwoDocuments) {
  PerformerOptions options = tiny<PerformerOptions>();
  options.documents = 2;
  const auto model = testing::model_with_large_weights({options});
  const Sequences first{random_tokens(2, 5), {}}, second{random_tokens(2, 9), lengths({9, 4})};
  EXPECT_GT(difference(model->predict({first, second}), model->predict({second, first})), 1e-3);
  EXPECT_PRED2(contains, error_of([&] { model->predict({first}); }), "two documents, not 1");
}

TEST(ArenaModel, RejectsInvalidInputs) {
  LinformerOptions options = tiny<LinformerOptions>();
  options.max_positions = 6;
  const auto model = testing::model_with_large_weights({options});
  EXPECT_PRED2(contains, error_of([&] { model->predict({{random_tokens(1, 7), {}}}); }), "max_positions = 6");
  options.heads = 3;
  EXPECT_PRED2(contains, error_of([&] { validate({options}); }), "does not divide into 3 heads");
  ReformerOptions reformer;
  reformer.buckets = 5;
  EXPECT_PRED2(contains, error_of([&] { validate({reformer}); }), "even number");
}

// The counts of the published programs, with 256 bytes and padding.
TEST(ArenaModel, HasThePublishedSizeOnText) {
  const auto count = [](const char* name) {
    ModelOptions options = load_preset(std::string("lra-text-") + name).model;
    sequence_options(options)->vocabulary = 257;
    if (auto* linformer = dynamic_cast<LinformerOptions*>(&options.kind())) linformer->max_positions = 4000;
    return count_parameters(options).total;
  };
  EXPECT_EQ(count("performer"), 3'486'722);
  EXPECT_EQ(count("linformer"), 3'742'786);
  EXPECT_EQ(count("bigbird"), 3'486'722);
  EXPECT_EQ(count("reformer"), 2'962'434);
  ArenaTransformerOptions transformer;
  transformer.vocabulary = 257;
  EXPECT_EQ(count_parameters({transformer}).total, 3'486'722);
}

TEST(ArenaModel, IsABaselineOfEveryClassifier) {
  for (const char* preset : {"lra-listops", "lra-retrieval", "lra-image", "sc-big", "series-small"})
    for (const char* name : {"performer", "linformer", "bigbird", "reformer"}) {
      const ModelOptions mega = load_preset(preset).model;
      const auto options = baseline_of(mega, name);
      ASSERT_TRUE(options.has_value()) << preset << ", " << name;
      validate(*options);
      EXPECT_EQ(sequence_options(*options)->classes, sequence_options(mega)->classes);
      EXPECT_EQ(options->kind().document_count(), mega.kind().document_count());
      ModelOptions with_cls = *options;
      sequence_options(with_cls)->pooling = Pooling::cls;
      EXPECT_EQ(cls_token(with_cls), -1) << "the model has a vector of its own";
    }
}

TEST(ArenaModel, TensorTableMatchesTheModules) {
  for (const Kind& kind : kinds())
    for (const Pooling pooling : {Pooling::cls, Pooling::mean}) {
      ModelOptions options = kind.options;
      sequence_options(options)->pooling = pooling;
      testing::expect_described(options);
    }
}

TEST(ArenaModel, MemoryEstimateIsNearTheMeasurement) {
  ASSERT_TRUE(kCounts);
  PerformerOptions favor;
  favor.kernel = PerformerKernel::favor;
  ReformerOptions article;
  article.form = ReformerForm::article;
  for (const ModelOptions& options :
       {ModelOptions{ArenaTransformerOptions{}}, ModelOptions{PerformerOptions{}}, ModelOptions{favor},
        ModelOptions{LinformerOptions{}}, ModelOptions{BigBirdOptions{}}, ModelOptions{ReformerOptions{}},
        ModelOptions{article}})
    testing::expect_true_memory(options);
}

// ---- each attention against what it approximates --------------------------------------------------------

Tensor full_attention(const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads) {
  ops::AttentionSettings settings;
  settings.heads = heads;
  return ops::attention(q, k, v, {}, {}, settings);
}

// Without the small number that the release adds to each feature, which is a bias that stays.
TEST(Performer, MoreFeaturesComeNearerToSoftmax) {
  constexpr double kFeatureOffset = 1e-4;
  torch::manual_seed(3);
  const Tensor q = torch::randn({2, 30, 16}) * 0.5, k = torch::randn({2, 30, 16}) * 0.5,
               v = torch::randn({2, 30, 16});
  const Tensor exact = full_attention(q, k, v, 2);
  const auto size = [](const Tensor& x) { return x.square().mean().sqrt().item<double>(); };
  const auto error = [&](int64_t features) {
    double sum = 0.0;
    for (int draw = 0; draw < 8; ++draw) {
      const Tensor projection = orthogonal_features(features, 8);
      const double offset = kFeatureOffset / std::sqrt(static_cast<double>(features));
      const Tensor y =
          ops::linear_attention(favor_features(q, projection, 2, false) - offset,
                                favor_features(k, projection, 2, true) - offset, v, {}, {2, false, false});
      sum += size(y - exact);
    }
    return sum / 8;
  };
  // An unbiased estimate from m features errs by about 1 / √m: sixteen times as many, a quarter of the error.
  const double many = error(512), very_many = error(8192);
  EXPECT_NEAR(many / very_many, 4.0, 1.0);
}

TEST(Performer, FeaturesAreOrthogonal) {
  torch::manual_seed(4);
  const Tensor projection = orthogonal_features(20, 8);
  ASSERT_EQ(projection.sizes(), torch::IntArrayRef({20, 8}));
  for (const int64_t first : {0, 8, 16}) {
    const Tensor block = projection.slice(0, first, first + 8);
    const Tensor products = torch::matmul(block, block.t());
    EXPECT_LT((products - torch::diag(products.diag())).abs().max().item<double>(), 1e-4);
  }
}

TEST(Linformer, WithTheIdentityIsFullAttention) {
  torch::manual_seed(5);
  const Tensor q = torch::randn({2, 20, 12}), k = torch::randn({2, 20, 12}), v = torch::randn({2, 20, 12});
  const Tensor identity = torch::eye(25, 20);
  EXPECT_LT(distance(linformer_attention(q, k, v, identity, identity, {}, 3), full_attention(q, k, v, 3)),
            1e-5);
}

// With five blocks and the one that is missing as the random one, every inner block sees everything once.
TEST(BigBird, ThatSeesEverythingIsFullAttention) {
  torch::manual_seed(6);
  const Tensor q = torch::randn({2, 30, 12}), k = torch::randn({2, 30, 12}), v = torch::randn({2, 30, 12});
  const Tensor random = torch::tensor({{{3}, {-1}, {1}}}, torch::kInt64).expand({3, 3, 1});
  for (const ops::Form form : {ops::Form::reference, ops::Form::fused}) {
    const ops::FormGuard guard(form);
    EXPECT_LT(distance(bigbird_attention(q, k, v, random, {}, 3, 6), full_attention(q, k, v, 3)), 1e-5);
  }
}

TEST(BigBird, SeesItsBlocksAlone) {
  torch::manual_seed(7);
  const int64_t blocks = 12, block = 4;
  const Tensor random = draw_random_blocks(0, 1, blocks, block, 2);
  const Tensor q = torch::randn({1, blocks * block, 6}), k = torch::randn({1, blocks * block, 6}),
               v = torch::randn({1, blocks * block, 6});
  const Tensor before = bigbird_attention(q, k, v, random, {}, 1, block);
  for (int64_t changed = 0; changed < blocks; ++changed) {
    Tensor other = v.clone();
    other.narrow(1, changed * block, block).normal_();
    const Tensor moved = (bigbird_attention(q, k, other, random, {}, 1, block) - before).abs();
    for (int64_t i = 0; i < blocks; ++i) {
      const bool outer = i == 0 || i == blocks - 1 || changed == 0 || changed == blocks - 1;
      const bool drawn = !outer && (random[0][i - 1] == changed).any().item<bool>();
      const bool seen = outer || std::abs(i - changed) <= 1 || drawn;
      EXPECT_EQ(moved.narrow(1, i * block, block).max().item<double>() > 0.0, seen) << i << " " << changed;
      EXPECT_FALSE(drawn && std::abs(i - changed) <= 1) << "a neighbour was drawn";
    }
  }
}

TEST(BigBird, RandomBlocksAreFixedAndEarly) {
  const Tensor random = draw_random_blocks(2, 4, 63, 64, 3);
  EXPECT_TRUE(random.equal(draw_random_blocks(2, 4, 63, 64, 3)));
  EXPECT_FALSE(random.equal(draw_random_blocks(1, 4, 63, 64, 3)));
  EXPECT_GE(random.min().item<int64_t>(), 1);
  EXPECT_LE(random.max().item<int64_t>(), 15) << "the first 1024 positions";
  for (int64_t a = 0; a < 3; ++a)
    for (int64_t b = 0; b < a; ++b)
      EXPECT_FALSE((random.select(2, a) == random.select(2, b)).any().item<bool>()) << "drawn twice";
}

// Two buckets, each of which sees the other: attention over everything, of normalised keys, without oneself.
TEST(Reformer, OneNeighbourhoodIsAttentionOverAll) {
  torch::manual_seed(8);
  const Tensor qk = torch::randn({3, 16, 6}, torch::kFloat64), v = torch::randn({3, 16, 6}, torch::kFloat64);
  const Tensor keys = qk / qk.norm(2, -1, true);
  for (const bool causal : {false, true}) {
    Tensor scores = torch::matmul(qk, keys.transpose(1, 2)) / std::sqrt(6.0);
    if (causal) scores = scores.masked_fill(torch::ones({16, 16}, torch::kBool).triu(1), -1e30);
    scores = scores.masked_fill(torch::eye(16, torch::kBool), -5e4);
    const Tensor expected = torch::matmul(torch::softmax(scores, -1), v);
    EXPECT_LT(distance(lsh_attention(qk, v, draw_rotations(6, 1, 2, qk), {}, {8, causal, true}), expected),
              1e-12);
  }
  const Tensor scores = torch::matmul(qk, qk.transpose(1, 2)) * std::sqrt(6.0);
  EXPECT_LT(distance(arena_lsh_attention(qk, v, draw_rotations(6, 1, 2, qk), {}, 1),
                     torch::matmul(torch::softmax(scores, -1), v)),
            1e-12);
}

TEST(Reformer, IsCausal) {
  torch::manual_seed(9);
  const Tensor qk = torch::randn({2, 32, 6}), v = torch::randn({2, 32, 6});
  const Tensor rotations = draw_rotations(6, 2, 8, qk);
  const LshSettings settings{4, true, true};
  const Tensor before = lsh_attention(qk, v, rotations, {}, settings);
  // Where what is hashed stays, so does who meets whom.
  for (const int64_t at : {1, 15}) {
    Tensor other = v.clone();
    other.slice(1, at).normal_();
    const Tensor moved = (lsh_attention(qk, other, rotations, {}, settings) - before).abs();
    EXPECT_EQ(moved.slice(1, 0, at).max().item<double>(), 0.0) << at;
    EXPECT_GT(moved.slice(1, at).max().item<double>(), 1e-3) << at;
  }
}

}  // namespace
}  // namespace mega::baselines
