// Attention of a single query against plain loops in double, on every instruction set this CPU has.
#include "mega/kernels/attention_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using mega::testing::expect_matrix;
using mega::testing::for_each_target;
using mega::testing::Matrix;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr AttentionFunction kFunctions[] = {AttentionFunction::softmax, AttentionFunction::relu2,
                                            AttentionFunction::laplace};

// Contiguous values as float and as bf16, rounded to bf16, so that both represent the same numbers.
struct Numbers {
  std::vector<float> floats;
  std::vector<uint16_t> halves;

  Numbers(int64_t count, std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < count; ++i) {
      halves.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(normal(random)) >> 16));
      floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(halves.back()) << 16));
    }
  }
  const void* at(WeightType type, int64_t i) const {
    if (type == WeightType::bf16) return halves.data() + i;
    return floats.data() + i;
  }
};

struct Problem {
  int64_t count, shared, values;
  AttentionFunction function;
  Numbers query, keys, value_rows;
  std::vector<float> bias;
  bool biased = true;
  float scale = 0.3f;

  Problem(AttentionFunction f, int64_t n, int64_t z, int64_t v, std::mt19937& random)
      : count(n),
        shared(z),
        values(v),
        function(f),
        query(z, random),
        keys(n * z, random),
        value_rows(n * v, random),
        bias(Numbers(n, random).floats) {}

  // Computes the partial result of keys [begin, end) into `out`.
  PartialAttention attend(WeightType type, int64_t begin, int64_t end, Matrix& out) const {
    const AttentionStep step{
        function, shared, values, query.floats.data(), scale, biased ? bias.data() + begin : nullptr};
    const KeyValuePage page{type, keys.at(type, begin * shared), value_rows.at(type, begin * values),
                            end - begin};
    const auto scores = mega::testing::aligned_floats((end - begin + 63) / 64 * 64);
    PartialAttention partial;
    partial.out = out.data();
    attention_step(step, page, scores.get(), partial);
    return partial;
  }

  double score(int64_t j) const {
    double sum = 0;
    for (int64_t z = 0; z < shared; ++z)
      sum += static_cast<double>(query.floats[static_cast<size_t>(z)]) *
             static_cast<double>(keys.floats[static_cast<size_t>(j * shared + z)]);
    const double shift = biased ? static_cast<double>(bias[static_cast<size_t>(j)]) : 0.0;
    return static_cast<double>(scale) * sum + shift;
  }
  double maximum() const {
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < count; ++j) largest = std::max(largest, score(j));
    return largest;
  }
  // For softmax exp(s - maximum), not yet divided by their sum.
  std::vector<double> weights() const {
    std::vector<double> result;
    const double largest = maximum();
    for (int64_t j = 0; j < count; ++j) {
      const double s = score(j);
      switch (function) {
        case AttentionFunction::softmax:
          result.push_back(std::exp(s - largest));
          break;
        case AttentionFunction::relu2:
          result.push_back(s > 0 ? s * s : 0);
          break;
        case AttentionFunction::laplace:
          result.push_back(0.5 * (1 + std::erf((s - 0.707107) / (0.282095 * std::sqrt(2.0)))));
          break;
      }
    }
    return result;
  }
  double sum() const {
    double total = 0;
    for (const double weight : weights()) total += weight;
    return total;
  }
  std::vector<double> out() const {
    const std::vector<double> w = weights();
    std::vector<double> result(static_cast<size_t>(values));
    for (int64_t j = 0; j < count; ++j)
      for (int64_t c = 0; c < values; ++c)
        result[static_cast<size_t>(c)] +=
            w[static_cast<size_t>(j)] *
            static_cast<double>(value_rows.floats[static_cast<size_t>(j * values + c)]);
    return result;
  }
};

void expect_out(const Matrix& actual, const std::vector<double>& expected, double divisor, const char* what) {
  expect_matrix(
      actual, [&](int64_t, int64_t c) { return expected[static_cast<size_t>(c)] / divisor; }, 4e-6, what,
      0.1);
}

int64_t pick(const std::vector<int64_t>& list, std::mt19937& random) { return list[random() % list.size()]; }

TEST(AttentionStep, AgreesWithLoops) {
  std::mt19937 random(1);
  for (const AttentionFunction function : kFunctions) {
    for (int64_t count = 1; count <= 130; ++count) {
      Problem problem(function, count, pick({1, 3, 8, 19, 32, 65, 128}, random),
                      pick({1, 5, 16, 33, 64, 71}, random), random);
      problem.biased = count % 3 != 0;
      SCOPED_TRACE(::testing::Message() << "function " << static_cast<int>(function) << ", " << count
                                        << " keys of " << problem.shared << ", values of " << problem.values);
      const std::vector<double> expected = problem.out();
      const bool softmax = function == AttentionFunction::softmax;
      for_each_target([&] {
        for (const WeightType type : {WeightType::f32, WeightType::bf16}) {
          Matrix out(1, problem.values), merged(1, problem.values);
          const PartialAttention partial = problem.attend(type, 0, count, out);
          expect_out(out, expected, 1, "out of a page");
          if (softmax) {
            ASSERT_NEAR(static_cast<double>(partial.maximum), problem.maximum(), 1e-5);
            ASSERT_NEAR(static_cast<double>(partial.sum), problem.sum(), 1e-5 * problem.sum());
          }
          merge_attention(function, &partial, 1, problem.values, merged.data());
          expect_out(merged, expected, softmax ? problem.sum() : 1, "out");
        }
      });
    }
  }
}

// The result does not depend on how the keys are split into pages.
TEST(AttentionStep, MergedPagesEqualAllKeys) {
  std::mt19937 random(2);
  for (const AttentionFunction function : kFunctions) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Problem problem(function, 1 + static_cast<int64_t>(random() % 300), 19, 33, random);
      const std::vector<double> expected = problem.out();
      const double divisor = function == AttentionFunction::softmax ? problem.sum() : 1;
      std::vector<int64_t> cuts = {0};
      while (cuts.back() < problem.count)
        cuts.push_back(std::min(problem.count, cuts.back() + static_cast<int64_t>(random() % 100)));
      for_each_target([&] {
        std::vector<Matrix> outs(cuts.size() - 1, Matrix(1, problem.values));
        std::vector<PartialAttention> partials;
        for (size_t p = 0; p < outs.size(); ++p)
          partials.push_back(problem.attend(WeightType::f32, cuts[p], cuts[p + 1], outs[p]));
        Matrix merged(1, problem.values);
        merge_attention(function, partials.data(), static_cast<int64_t>(partials.size()), problem.values,
                        merged.data());
        expect_out(merged, expected, divisor, "out");
      });
    }
  }
}

// A key contributes the same bits however many keys follow, so decoding does not depend on the page size.
TEST(AttentionStep, KeysAreIndependent) {
  std::mt19937 random(3);
  Problem problem(AttentionFunction::relu2, 40, 37, 21, random);
  for_each_target([&] {
    for (int64_t count = 0; count < problem.count; ++count) {
      // Keys beyond `count` have no weight.
      Problem hidden = problem;
      std::fill(hidden.bias.begin() + count, hidden.bias.end(), -kInfinity);
      Matrix few(1, problem.values), all(1, problem.values);
      problem.attend(WeightType::f32, 0, count, few);
      hidden.attend(WeightType::f32, 0, problem.count, all);
      for (int64_t c = 0; c < problem.values; ++c) ASSERT_EQ(few(0, c), all(0, c)) << count;
    }
  });
}

TEST(AttentionStep, MaskedKeysHaveNoWeight) {
  std::mt19937 random(4);
  for (const AttentionFunction function : kFunctions) {
    Problem problem(function, 50, 24, 17, random);
    std::fill(problem.bias.begin(), problem.bias.begin() + 30, -kInfinity);
    const std::vector<double> expected = problem.out();
    const double divisor = function == AttentionFunction::softmax ? problem.sum() : 1;
    for_each_target([&] {
      // All keys of the first page are masked.
      Matrix first(1, 17), second(1, 17), merged(1, 17);
      const PartialAttention partials[] = {problem.attend(WeightType::f32, 0, 20, first),
                                           problem.attend(WeightType::f32, 20, 50, second)};
      expect_out(first, std::vector<double>(17), 1, "out of a masked page");
      merge_attention(function, partials, 2, 17, merged.data());
      expect_out(merged, expected, divisor, "out");
      merge_attention(function, partials, 1, 17, merged.data());
      expect_out(merged, std::vector<double>(17), 1, "out of masked pages");
      merge_attention(function, partials, 0, 17, merged.data());
      expect_out(merged, std::vector<double>(17), 1, "out of no pages");
    });
  }
}

TEST(AttentionStep, HugeScoresStayFinite) {
  std::mt19937 random(5);
  for (const AttentionFunction function : {AttentionFunction::softmax, AttentionFunction::laplace}) {
    Problem problem(function, 50, 24, 17, random);
    problem.scale = 1e36f;
    const std::vector<double> expected = problem.out();
    const double divisor = function == AttentionFunction::softmax ? problem.sum() : 1;
    for_each_target([&] {
      Matrix first(1, 17), second(1, 17), merged(1, 17);
      const PartialAttention partials[] = {problem.attend(WeightType::f32, 0, 20, first),
                                           problem.attend(WeightType::f32, 20, 50, second)};
      merge_attention(function, partials, 2, 17, merged.data());
      expect_out(merged, expected, divisor, "out");
    });
  }
}

// NaN in a key propagates to the output.
TEST(AttentionStep, NanStaysNan) {
  std::mt19937 random(6);
  for (const AttentionFunction function : kFunctions) {
    Problem problem(function, 50, 24, 17, random);
    problem.keys.floats[24 * 13 + 5] = std::numeric_limits<float>::quiet_NaN();
    for_each_target([&] {
      Matrix first(1, 17), second(1, 17), merged(1, 17);
      const PartialAttention partials[] = {problem.attend(WeightType::f32, 0, 20, first),
                                           problem.attend(WeightType::f32, 20, 50, second)};
      merge_attention(function, partials, 2, 17, merged.data());
      for (int64_t c = 0; c < 17; ++c) ASSERT_TRUE(std::isnan(merged(0, c)));
    });
  }
}

}  // namespace
}  // namespace mega::kernels
