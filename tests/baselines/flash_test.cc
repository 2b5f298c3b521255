// Flash: padding, both forms, gradients, sizes, cost, and its attentions against their formulas.
#include "mega/baselines/flash.h"

#include <gtest/gtest.h>

#include "mega/baselines/model_builders.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/presets.h"
#include "mega/ops/activation.h"
#include "mega/ops/form.h"
#include "tests/base/helpers.h"
#include "tests/baselines/classifiers.h"

namespace mega::baselines {
namespace {

using testing::contains;
using testing::distance;
using testing::error_of;
using torch::Tensor;

const bool kCounts = testing::CountingAllocator::install();

FlashOptions tiny(FlashForm form = FlashForm::quadratic) {
  FlashOptions options = testing::tiny_classifier<FlashOptions>();
  options.form = form;
  options.values = 10;
  options.shared = 6;
  options.max_positions = 50;
  options.chunk = 7;
  return options;
}

std::vector<ModelOptions> variants() {
  FlashOptions layer = tiny();
  layer.norm = NormKind::layer;
  return {{tiny()}, {layer}, {tiny(FlashForm::mixed)}};
}

TEST(Flash, PaddingDoesNotMatter) {
  // The linear part of mixed chunks is divided by the length of the batch, as published.
  for (const ModelOptions& options : variants())
    testing::expect_padding_is_ignored(options,
                                       std::get<FlashOptions>(options.model).form == FlashForm::quadratic);
}

TEST(Flash, FormsAgree) {
  for (const ModelOptions& options : variants()) testing::expect_forms_agree(options);
}

TEST(Flash, GradientsMatchFiniteDifferences) {
  for (const ModelOptions& options : variants()) testing::expect_right_gradients(options, ".gau.");
}

TEST(Flash, TensorTableMatchesTheModules) {
  for (const ModelOptions& options : variants()) testing::expect_described(options);
  FlashOptions batch = tiny();
  batch.norm = NormKind::batch;
  testing::expect_described({batch});
}

TEST(Flash, MemoryEstimateIsNearTheMeasurement) {
  ASSERT_TRUE(kCounts);
  FlashOptions mixed;
  mixed.form = FlashForm::mixed;
  testing::expect_true_memory({FlashOptions{}});
  testing::expect_true_memory({mixed});
}

TEST(Flash, HasThePublishedSize) {
  EXPECT_EQ(count_parameters(load_preset("lra-text-flash").model).total, 529'169);
}

TEST(Flash, BatchNormCountsBatches) {
  FlashOptions options = tiny();
  options.norm = NormKind::batch;
  FlashNorm norm(options);
  const Tensor x = torch::randn({3, 20, 8}) * 2 + 1;
  const Tensor y = norm->forward(x).flatten(0, 1);
  EXPECT_LT(y.mean(0).abs().max().item<double>(), 1e-5);
  EXPECT_NEAR(y.square().mean().item<double>(), 1.0, 1e-3);
  EXPECT_EQ(norm->named_buffers()["num_batches_tracked"].item<int64_t>(), 1);
}

TEST(Flash, RejectsInvalidOptionsAndInputs) {
  FlashOptions options = tiny();
  options.norm = NormKind::rms;
  EXPECT_PRED2(contains, error_of([&] { validate({options}); }), "scale, layer or batch, not rms");
  const auto model = make_sequence_model({tiny()});
  EXPECT_PRED2(contains, error_of([&] {
                 model->predict({{testing::random_tokens(1, 51), {}}});
               }),
               "supports 50 positions");
}

struct Inputs {
  Tensor q, k, v, other_q, other_k, mask;
};
Inputs draw(int64_t length) {
  const auto random = [&](int64_t width) { return torch::randn({2, length, width}, torch::kFloat64); };
  Tensor mask = torch::zeros({2, length}, torch::kBool);
  mask[1].slice(0, length - length / 3).fill_(true);
  return {random(4), random(4), random(5), random(4), random(4), mask};
}

// Rows of W v with W = relu(scores)^2 where `seen`, (L, L).
Tensor squared(const Tensor& scores, const Tensor& seen, const Tensor& v) {
  return torch::matmul(ops::relu2(scores) * seen, v);
}

TEST(Flash, QuadraticAttentionDividesByTheUnpaddedLength) {
  torch::manual_seed(1);
  const Inputs in = draw(12);
  for (const bool causal : {false, true})
    for (int64_t b = 0; b < 2; ++b) {
      const Tensor real = (~in.mask[b]).to(torch::kFloat64);
      Tensor seen = real.unsqueeze(0).expand({12, 12});
      if (causal) seen = seen.tril();
      const Tensor scores = torch::matmul(in.q[b], in.k[b].t()) / real.sum();
      EXPECT_LT(distance(quadratic_attention(in.q, in.k, in.v, {}, in.mask, causal)[b],
                         squared(scores, seen, in.v[b])),
                1e-12);
    }
}

TEST(Flash, MixedAttentionIsItsFormula) {
  torch::manual_seed(2);
  const int64_t length = 17, chunk = 5;
  const Inputs in = draw(length);
  const Tensor index = torch::arange(length), of = index.div(chunk, "floor");
  for (const bool causal : {false, true})
    for (int64_t b = 0; b < 2; ++b) {
      const Tensor real = (~in.mask[b]).to(torch::kFloat64).unsqueeze(0);
      Tensor near = (of.unsqueeze(1) == of.unsqueeze(0)) * real;
      if (causal) near = near.tril();
      const Tensor far = causal ? (of.unsqueeze(1) > of.unsqueeze(0)) * real : real.expand({length, length});
      const Tensor scores = torch::matmul(in.q[b], in.k[b].t()) / static_cast<double>(chunk);
      const Tensor linear = torch::matmul(in.other_q[b], in.other_k[b].t()) * far /
                            static_cast<double>(causal ? chunk : length);
      const Tensor expected = squared(scores, near, in.v[b]) + torch::matmul(linear, in.v[b]);
      EXPECT_LT(
          distance(mixed_attention({in.q, in.other_q, in.k, in.other_k}, in.v, {}, in.mask, chunk, causal)[b],
                   expected),
          1e-12);
    }
}

TEST(Flash, CausalUnitsSeeNoFuture) {
  for (const FlashForm form : {FlashForm::quadratic, FlashForm::mixed})
    for (const ops::Form how : {ops::Form::reference, ops::Form::fused}) {
      const ops::FormGuard guard(how);
      torch::manual_seed(3);
      GatedAttentionUnit unit = testing::with_large_weights(GatedAttentionUnit(tiny(form), true));
      const Tensor x = torch::randn({1, 20, 8}), before = unit->forward(x, {});
      for (const int64_t at : {1, 7, 13}) {
        Tensor changed = x.clone();
        changed.slice(1, at).normal_();
        const Tensor moved = (unit->forward(changed, {}) - before).abs();
        EXPECT_EQ(moved.slice(1, 0, at).max().item<double>(), 0.0) << at;
        EXPECT_GT(moved.slice(1, at).max().item<double>(), 1e-4) << at;
      }
    }
}

}  // namespace
}  // namespace mega::baselines
