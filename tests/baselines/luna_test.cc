// Luna: padding, both forms, gradients, sizes, cost, and causal attention against its formula.
#include "mega/baselines/luna.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mega/baselines/model_builders.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/presets.h"
#include "mega/ops/form.h"
#include "tests/base/helpers.h"
#include "tests/baselines/classifiers.h"
#include "tests/compare.h"
#include "tests/counting_allocator.h"
#include "tests/models/helpers.h"

namespace mega::baselines {
namespace {

using testing::contains;
using testing::distance;
using testing::error_of;
using torch::Tensor;

const bool kCounts = testing::CountingAllocator::install();

LunaOptions tiny() {
  LunaOptions options = testing::tiny_classifier<LunaOptions>();
  options.hidden = 10;
  options.heads = 2;
  options.pack_heads = 4;
  options.packed = 6;
  return options;
}

// Every option that changes what is computed.
std::vector<ModelOptions> variants() {
  LunaOptions tied = tiny(), prenorm = tiny(), shared = tiny(), plain = tiny();
  tied.tie_keys = true;
  prenorm.prenorm = true;
  shared.share_layers = true;
  plain.normalize_embedding = false;
  return {{tiny()}, {tied}, {prenorm}, {shared}, {plain}};
}

TEST(Luna, PaddingDoesNotMatter) {
  for (const ModelOptions& options : variants()) testing::expect_padding_is_ignored(options);
}

TEST(Luna, FormsAgree) {
  // Softmax ignores a bias of keys, and nothing reads what the last layer packs after its attention.
  for (const ModelOptions& options : variants()) {
    std::vector<std::string> unused = {"k_proj.bias"};
    const auto& luna = std::get<LunaOptions>(options.model);
    if (!luna.prenorm && !luna.share_layers)
      for (const char* name : {"weight", "bias"})
        unused.push_back(std::string("layers.1.self_atten_proj_layer_norm.") + name);
    testing::expect_forms_agree(options, unused);
  }
}

TEST(Luna, GradientsMatchFiniteDifferences) {
  for (const ModelOptions& options : variants()) testing::expect_right_gradients(options, ".self_attn.");
}

TEST(Luna, TensorTableMatchesTheModules) {
  for (const ModelOptions& options : variants()) testing::expect_described(options);
}

TEST(Luna, MemoryEstimateIsNearTheMeasurement) {
  ASSERT_TRUE(kCounts);
  testing::expect_true_memory({LunaOptions{}});
}

TEST(Luna, HasThePublishedSizes) {
  EXPECT_EQ(count_parameters(load_preset("lra-text-luna").model).total, 4'349'952);
  const auto listops =
      count_parameters(load_preset("lra-listops-luna").model);  // one layer's weights six times
  EXPECT_EQ(listops.total, 5'157'888);
  EXPECT_EQ(listops.parts.at("feed-forward"), 2 * 512 * 2048 + 2048 + 512);
}

TEST(Luna, RejectsAState) {
  torch::nn::Module holder;
  LunaStack stack(tiny(), holder);
  stack.reset_parameters();
  nn::State state;
  EXPECT_PRED2(contains, error_of([&] { stack.forward(torch::randn({1, 5, 8}), {}, &state); }), "no state");
}

TEST(CausalLuna, IsItsFormulaAndSeesNoFuture) {
  torch::manual_seed(1);
  const auto draw = [](int64_t length) { return torch::randn({1, length, 6}, torch::kFloat64); };
  const Tensor q = draw(70), k = draw(70), v = draw(70), scores = draw(70), packed = draw(5);
  const Tensor y = causal_luna_attention(q, k, v, scores, packed, 2);
  for (int64_t h = 0; h < 2; ++h) {
    const auto head = [&](const Tensor& x) { return x[0].narrow(1, 3 * h, 3); };
    const double scale = 1.0 / std::sqrt(3.0);
    const Tensor shares =
        torch::log1p(torch::exp2(torch::matmul(head(scores), head(packed).t()) * scale)) / std::log(2.0);
    for (const int64_t t : {0, 1, 40, 69}) {
      const double count = static_cast<double>(t + 1);
      const auto until = [&](const Tensor& x) { return x.slice(0, 0, t + 1); };
      const Tensor keys = torch::matmul(until(head(k)).t(), until(shares)) / count;
      const Tensor values = torch::matmul(until(shares).t(), until(head(v))) / count;
      const Tensor weights = torch::softmax(torch::matmul(head(q)[t] * scale, keys), -1);
      EXPECT_LT(distance(y[0][t].narrow(0, 3 * h, 3), torch::matmul(weights, values)), 1e-12) << t;
    }
  }
  Tensor later = v.clone();
  later.slice(1, 65).normal_();
  const Tensor moved = (causal_luna_attention(q, k, later, scores, packed, 2) - y).abs();
  EXPECT_EQ(moved.slice(1, 0, 65).max().item<double>(), 0.0);
  EXPECT_GT(moved.slice(1, 65).max().item<double>(), 1e-3);
}

}  // namespace
}  // namespace mega::baselines
