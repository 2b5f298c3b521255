// Each kind of position against its definition.
#include "mega/nn/position.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/gradcheck.h"
#include "tests/nn/helpers.h"

namespace mega::nn {
namespace {

using namespace mega::testing;
using torch::Tensor;

std::shared_ptr<PositionImpl> make(PositionKind kind, int64_t shared = 6, int64_t positions = 50,
                                   bool causal = false) {
  torch::manual_seed(3);
  auto position = make_position(kind, shared, positions, causal);
  scramble(*position);
  return position;
}

double value(const ops::RelativeBias& bias, int64_t offset) {
  return bias.values[offset - bias.first].item<double>();
}

// [w1 cos - w2 sin, w2 cos + w1 sin] with the angles i 10000^(-k / half); halves are paired.
std::vector<double> rotate(const Tensor& w, int64_t i) {
  const int64_t half = w.numel() / 2;
  std::vector<double> result(static_cast<size_t>(2 * half));
  for (int64_t k = 0; k < half; ++k) {
    const double angle =
        static_cast<double>(i) * std::pow(10000.0, -static_cast<double>(k) / static_cast<double>(half));
    const double w1 = w[k].item<double>(), w2 = w[half + k].item<double>();
    result[static_cast<size_t>(k)] = w1 * std::cos(angle) - w2 * std::sin(angle);
    result[static_cast<size_t>(half + k)] = w2 * std::cos(angle) + w1 * std::sin(angle);
  }
  return result;
}

TEST(Position, NoneChangesNothing) {
  const auto none = make(PositionKind::none);
  EXPECT_FALSE(none->bias(-3, 3).values.defined());
  EXPECT_FALSE(none->changes_queries());
  EXPECT_TRUE(none->parameters().empty());
}

TEST(Position, SimpleIsATable) {
  const auto simple = make(PositionKind::simple, 6, 8);
  const Tensor table = simple->named_parameters()["rel_pos_bias"];
  ASSERT_EQ(table.numel(), 15);
  const auto bias = simple->bias(-4, 2);
  ASSERT_EQ(bias.values.numel(), 7);
  for (int64_t offset = -4; offset <= 2; ++offset)
    EXPECT_EQ(value(bias, offset), table[7 + offset].item<double>());
  // Only the offsets in use have a gradient.
  bias.values.sum().backward();
  EXPECT_EQ(table.grad().sum().item<double>(), 7.0);
  EXPECT_EQ(table.grad().narrow(0, 3, 7).sum().item<double>(), 7.0);
  EXPECT_PRED2(contains, error_of([&] { simple->check_length(9); }), "raise max_positions");
  EXPECT_PRED2(contains, error_of([&] { simple->bias(-8, 0); }), "raise max_positions");
  EXPECT_NO_THROW(simple->check_length(8));
}

TEST(Position, RotaryMatchesTheDefinition) {
  const auto rotary = make(PositionKind::rotary);
  const Tensor alpha = rotary->named_parameters()["alpha"], beta = rotary->named_parameters()["beta"];
  for (const int64_t n : {1, 5, 40, 3}) {  // growing the table, then reading from it
    const auto bias = rotary->bias(1 - n, n - 1);
    ASSERT_EQ(bias.values.sizes(), c10::IntArrayRef({2 * n - 1}));
    for (int64_t i = 0; i < n; ++i) {
      const auto a = rotate(alpha[0], i);
      for (int64_t j = 0; j < n; ++j) {
        const auto b = rotate(beta[0], j);
        const double expected = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
        ASSERT_NEAR(value(bias, j - i), expected, 1e-6) << i << " " << j;
      }
    }
  }
}

TEST(Position, RotaryGradients) {
  const auto rotary = make(PositionKind::rotary);
  rotary->to(torch::kFloat64);
  check_gradients([&] { return Tensors{rotary->bias(-5, 3).values}; }, rotary->parameters());
}

// A decoding step needs one value per key at any length, never length x length.
TEST(Position, BiasOfAStepIsARow) {
  for (const auto kind :
       {PositionKind::simple, PositionKind::rotary, PositionKind::t5, PositionKind::alibi}) {
    constexpr int64_t kLength = 100000;
    const torch::NoGradGuard guard;
    const auto bias = make(kind, 6, kLength)->bias(1 - kLength, 0);
    EXPECT_EQ(bias.values.sizes(), c10::IntArrayRef({kLength})) << to_string(kind);
    EXPECT_EQ(bias.first, 1 - kLength);
  }
}

// The bucket of an offset: the bias when bucket b holds the value b.
int64_t bucket(PositionImpl& t5, int64_t offset) { return t5.bias(offset, offset).values.item<int64_t>(); }

std::shared_ptr<PositionImpl> numbered_t5(bool causal) {
  auto t5 = make(PositionKind::t5, 6, 50, causal);
  const torch::NoGradGuard guard;
  t5->parameters()[0].copy_(torch::arange(32));
  return t5;
}

TEST(Position, T5Buckets) {
  const auto causal = numbered_t5(true), both = numbered_t5(false);
  // Short distances have one bucket each, longer ones share; all from 128 on share the last.
  for (int64_t distance = 0; distance < 16; ++distance) EXPECT_EQ(bucket(*causal, -distance), distance);
  for (int64_t distance = 0; distance < 8; ++distance) EXPECT_EQ(bucket(*both, -distance), distance);
  for (int64_t distance = 1; distance < 300; ++distance) {
    EXPECT_GE(bucket(*causal, -distance), bucket(*causal, 1 - distance));
    EXPECT_LE(bucket(*causal, -distance) - bucket(*causal, 1 - distance), 1);
    EXPECT_EQ(bucket(*both, distance), bucket(*both, -distance) + 16);  // positive and negative offsets
    EXPECT_EQ(bucket(*causal, distance), 0);                            // the future is masked
  }
  EXPECT_EQ(bucket(*causal, -127), 31);
  EXPECT_EQ(bucket(*causal, -100000), 31);
  EXPECT_EQ(bucket(*both, -100000), 15);
  // From the published implementation: 32 buckets up to distance 128, bidirectional.
  for (const auto& [offset, expected] : {std::pair{-8, 8},
                                         {-12, 9},
                                         {-20, 10},
                                         {-24, 11},
                                         {-50, 13},
                                         {-70, 14},
                                         {-95, 15},
                                         {12, 25},
                                         {70, 30},
                                         {1, 17}})
    EXPECT_EQ(bucket(*both, offset), expected) << offset;
  // One value per requested offset, all at once or one at a time.
  const Tensor all = both->bias(-40, 40).values;
  for (int64_t offset = -40; offset <= 40; ++offset)
    EXPECT_EQ(all[offset + 40].item<int64_t>(), bucket(*both, offset));
}

TEST(Position, AlibiIsAPenalty) {
  const auto alibi = make(PositionKind::alibi);
  EXPECT_TRUE(alibi->parameters().empty());
  const auto bias = alibi->bias(-9, 4);
  for (int64_t offset = -9; offset <= 4; ++offset)
    EXPECT_EQ(value(bias, offset), -static_cast<double>(std::abs(offset)) / 256);
}

// After rotation, a score depends only on the distance; at distance 0 it is the unrotated score.
TEST(Position, RopeDependsOnDistancesOnly) {
  const auto rope = make(PositionKind::rope);
  const Tensor q = torch::randn({1, 1, 6}, torch::kFloat64), k = torch::randn({1, 1, 6}, torch::kFloat64);
  const auto score = [&](int64_t i, int64_t j) {
    return (rope->queries(q, torch::full({1}, i, torch::kInt64)) *
            rope->keys(k, torch::full({1}, j, torch::kInt64)))
        .sum()
        .item<double>();
  };
  for (const int64_t distance : {0, 1, 5, 100})
    for (const int64_t shift : {1, 7, 5000})
      EXPECT_NEAR(score(distance, 0), score(shift + distance, shift), 1e-9) << distance << " " << shift;
  EXPECT_NEAR(score(3, 3), (q * k).sum().item<double>(), 1e-12);
  EXPECT_GT(std::abs(score(4, 0) - score(0, 4)), 1e-3);  // the direction matters too
  const auto expected = rotate(q[0][0], 9);
  const Tensor rotated = rope->queries(q, torch::full({1}, 9, torch::kInt64));
  for (size_t z = 0; z < 6; ++z)
    EXPECT_NEAR(rotated[0][0][static_cast<int64_t>(z)].item<double>(), expected[z], 1e-12);
  EXPECT_TRUE(rope->parameters().empty());
}

// Adds (p_i U_q) . (p_j U_k) / sqrt(Z) to the score.
TEST(Position, TupeAddsAPositionScore) {
  const auto tupe = make(PositionKind::tupe, 6, 12);
  const auto parameters = tupe->named_parameters();
  const Tensor positions = torch::tensor({3, 0, 11, 3}), x = torch::randn({2, 4, 6});
  const Tensor q = tupe->queries(x, positions), k = tupe->keys(x, positions);
  ASSERT_EQ(q.sizes(), c10::IntArrayRef({2, 4, 12}));
  EXPECT_TRUE(q.narrow(2, 0, 6).equal(x));
  EXPECT_TRUE(k.narrow(2, 0, 6).equal(x));
  const Tensor p = parameters["positions"].index_select(0, positions);
  const Tensor expected =
      torch::mm(torch::mm(p, parameters["query"]), torch::mm(p, parameters["key"]).t()) / std::sqrt(6.0);
  const Tensor actual = torch::matmul(q.slice(2, 6), k.slice(2, 6).transpose(1, 2));
  for (const int64_t row : {0, 1}) expect_close(actual[row], expected, 1e-5, "scores");
  EXPECT_PRED2(contains, error_of([&] { tupe->check_length(13); }), "raise max_positions");
}

TEST(Position, RotationsNeedAnEvenWidth) {
  EXPECT_PRED2(contains, error_of([] { make(PositionKind::rotary, 5); }), "even");
  EXPECT_PRED2(contains, error_of([] { make(PositionKind::rope, 5); }), "even");
}

}  // namespace
}  // namespace mega::nn
