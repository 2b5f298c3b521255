// Gathered attention: both forms, full attention as a special case, lists with gaps, and gradients.
#include "mega/ops/gathered_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mega/ops/attention.h"
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

// Groups of random queries, each once, and of random keys, some of them missing or repeated.
AttentionGroups random_groups(int64_t batch, int64_t heads, int64_t groups, int64_t queries, int64_t keys,
                              int64_t seen) {
  const int64_t places = (queries + groups - 1) / groups;
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < batch * heads; ++i)
    rows.push_back(
        torch::constant_pad_nd(torch::randperm(queries, torch::kInt64), {0, groups * places - queries}, -1));
  return {torch::stack(rows).view({batch, heads, groups, places}),
          torch::randint(-1, keys, {batch, heads, groups, seen}, torch::kInt64)};
}

TEST(GatheredAttention, FormsAgree) {
  torch::manual_seed(1);
  for (const int64_t lists : {1, 2})
    for (const int64_t seen : {1, 30, 200})
      for (const bool padded : {false, true})
        for (const float rate : {0.0f, 0.3f}) {
          const AttentionGroups groups = random_groups(lists, 3, 4, 50, 60, seen);
          const Tensor mask = padded ? torch::rand({2, 60}) < 0.4 : Tensor();
          const GatheredAttentionSettings settings{3, 0.4, {rate, 7}};
          compare_forms(
              [&](const Tensors& x) { return gathered_attention(x[0], x[1], x[2], groups, mask, settings); },
              {torch::randn({2, 50, 15}), torch::randn({2, 60, 15}), torch::randn({2, 60, 21})},
              // The weight of a single key is 1, whatever its score: gradients of queries and keys are then
              // differences of equal numbers, of size 1 and more.
              seen == 1 ? 1.0 : 0.0);
        }
}

TEST(GatheredAttention, OneGroupOfEverythingIsAttention) {
  torch::manual_seed(2);
  const Tensor q = torch::randn({2, 20, 12}), k = torch::randn({2, 30, 12}), v = torch::randn({2, 30, 12});
  const Tensor mask = torch::rand({2, 30}) < 0.3;
  const auto all = [](int64_t rows) {
    return torch::arange(rows).view({1, 1, 1, rows}).expand({1, 3, 1, rows});
  };
  AttentionSettings settings;
  settings.heads = 3;
  for (const Form form : {Form::reference, Form::fused}) {
    const FormGuard guard(form);
    EXPECT_LT(distance(gathered_attention(q, k, v, {all(20), all(30)}, mask, {3, 0.5, {}}),
                       attention(q, k, v, {}, mask, settings)),
              1e-5);
  }
}

TEST(GatheredAttention, QueriesWithoutKeysGiveZero) {
  torch::manual_seed(3);
  const Tensor x = torch::randn({1, 4, 6});
  const auto rows = [](std::vector<int64_t> values) {
    return torch::tensor(values, torch::kInt64).view({1, 1, 2, -1});
  };
  for (const Form form : {Form::reference, Form::fused}) {
    const FormGuard guard(form);
    const Tensor y =
        gathered_attention(x, x, x, {rows({0, 2, 1, -1}), rows({1, 3, -1, -1})}, {}, {1, 1.0, {}});
    EXPECT_GT(y[0][0].abs().max().item<double>(), 0.0);
    EXPECT_EQ(y[0][1].abs().max().item<double>(), 0.0) << "its group has no keys";
    EXPECT_EQ(y[0][3].abs().max().item<double>(), 0.0) << "in no group";
  }
}

TEST(GatheredAttention, GradientsMatchFiniteDifferences) {
  torch::manual_seed(4);
  const FormGuard guard(Form::reference);
  const AttentionGroups groups = random_groups(1, 2, 2, 5, 6, 4);
  Tensors x = {torch::randn({1, 5, 4}, torch::kFloat64).requires_grad_(),
               torch::randn({1, 6, 4}, torch::kFloat64).requires_grad_(),
               torch::randn({1, 6, 6}, torch::kFloat64).requires_grad_()};
  check_gradients([&] { return Tensors{gathered_attention(x[0], x[1], x[2], groups, {}, {2, 0.7, {}})}; }, x);
}

TEST(GatheredAttention, RejectsWhatDoesNotFit) {
  const Tensor x = torch::randn({2, 5, 6});
  const AttentionGroups groups = random_groups(1, 2, 1, 5, 5, 3);
  const auto error = [&](const AttentionGroups& given, int64_t heads = 2) {
    return error_of([&] { gathered_attention(x, x, x, given, {}, {heads, 1.0, {}}); });
  };
  EXPECT_PRED2(contains, error(groups, 4), "number of heads, 4");
  EXPECT_PRED2(contains, error({groups.queries, groups.keys + 5}), "the keys of groups must be");
  EXPECT_PRED2(contains, error({groups.queries.to(torch::kInt32), groups.keys}), "the queries of groups");
}

}  // namespace
}  // namespace mega::ops
