// Attention of bytes against plain loops in double, on every instruction set this CPU has.
#include "mega/kernels/byte_attention.h"

#include <gtest/gtest.h>

#include <ostream>
#include <utility>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using mega::testing::aligned_floats;
using mega::testing::for_each_target;
using mega::testing::Matrix;

struct Case {
  int64_t queries, keys, shared, values, first_position = 0;
  bool causal = false, padded = false, biased = false, scale_by_position = false;

  friend std::ostream& operator<<(std::ostream& stream, const Case& c) {
    return stream << (c.causal ? " causal" : "") << (c.padded ? " padded" : "") << (c.biased ? " biased" : "")
                  << (c.scale_by_position ? " by position" : "") << " Q=" << c.queries << " K=" << c.keys
                  << " Z=" << c.shared << " V=" << c.values << " first=" << c.first_position;
  }
};

// Rows with gaps between them, which hold what must not matter.
struct Bytes {
  Bytes(int64_t rows, int64_t width, std::mt19937& random, float deviation = 1.0f)
      : columns(width), numbers(static_cast<size_t>(rows * stride()), 77), scales(static_cast<size_t>(rows)) {
    std::vector<int8_t> row(static_cast<size_t>(columns));
    for (int64_t r = 0; r < rows; ++r) {
      Matrix x(1, columns);
      x.randomize(random, deviation);
      quantize_rows(x, row.data(), &scales[static_cast<size_t>(r)], 0, 1, columns);
      std::copy(row.begin(), row.end(), numbers.begin() + r * stride());
    }
  }
  int64_t stride() const { return columns + 3; }
  double operator()(int64_t r, int64_t c) const { return scale(r) * integer(r, c); }
  double integer(int64_t r, int64_t c) const { return numbers[static_cast<size_t>(r * stride() + c)]; }
  double scale(int64_t r) const { return static_cast<double>(scales[static_cast<size_t>(r)]); }

  int64_t columns;
  std::vector<int8_t> numbers;
  std::vector<float> scales;
};

struct Inputs {
  Inputs(const Case& c, std::mt19937& random)
      : q(c.queries, c.shared, random, 3.0f),
        k(c.keys, c.shared, random),
        v(c.keys, c.values, random),
        bias(1, c.first_position + c.queries + c.keys - 1 + kBiasSlack),
        padding(static_cast<size_t>(c.keys)) {
    bias.randomize(random);
    for (uint8_t& p : padding) p = random() % 4 == 0 ? 255 : 0;
  }

  ByteAttentionBlock block(const Case& c, AttentionFunction function) const {
    ByteAttentionBlock b;
    b.queries = c.queries;
    b.keys = c.keys;
    b.shared = c.shared;
    b.values = c.values;
    b.q = q.numbers.data();
    b.k = k.numbers.data();
    b.v = v.numbers.data();
    b.q_stride = q.stride();
    b.k_stride = k.stride();
    b.v_stride = v.stride();
    b.q_scales = q.scales.data();
    b.k_scales = k.scales.data();
    b.v_scales = v.scales.data();
    b.function = function;
    b.first_position = c.first_position;
    b.causal = c.causal;
    b.scale = c.scale_by_position ? 1.5f : 0.25f;
    b.scale_by_position = c.scale_by_position;
    if (c.biased) b.bias = bias.data() + c.first_position + c.queries - 1;
    if (c.padded) b.padding = padding.data();
    return b;
  }

  Bytes q, k, v;
  Matrix bias;
  std::vector<uint8_t> padding;
};

double weight_of(AttentionFunction function, double score) {
  switch (function) {
    case AttentionFunction::softmax:
      return std::exp(score);
    case AttentionFunction::relu2:
      return std::pow(std::max(score, 0.0), 2);
    case AttentionFunction::laplace:
      return 0.5 * std::erfc(-(score - 0.707107) / (0.282095 * std::sqrt(2.0)));
  }
  return 0.0;
}

// Each element may differ by what rounding the weights of its row can change: of each weight, a 255th of the
// largest of its 128 keys, both times the scales of their values; exponentials are as exact as bf16 needs
// them.
void expect_attention(const Case& c, AttentionFunction function, const Inputs& in, const Matrix& out) {
  constexpr int64_t kKeysOfScale = 128;
  const ByteAttentionBlock b = in.block(c, function);
  EXPECT_TRUE(out.intact()) << "wrote beside its rows";
  for (int64_t i = 0; i < c.queries; ++i) {
    const int64_t position = c.first_position + i;
    const double scale =
        static_cast<double>(b.scale) / (c.scale_by_position ? static_cast<double>(position + 1) : 1.0);
    std::vector<double> weights(static_cast<size_t>(c.keys));
    std::vector<double> largest(static_cast<size_t>(c.keys / kKeysOfScale + 1));
    double sum = 0.0;
    for (int64_t j = 0; j < c.keys; ++j) {
      if ((c.causal && j > position) || (c.padded && in.padding[static_cast<size_t>(j)] != 0)) continue;
      double score = 0.0;
      for (int64_t z = 0; z < c.shared; ++z) score += in.q(i, z) * in.k(j, z);
      score *= scale;
      if (c.biased) score += static_cast<double>(b.bias[j - position]);
      const double weight = weights[static_cast<size_t>(j)] = weight_of(function, score);
      sum += weight;
      double& most = largest[static_cast<size_t>(j / kKeysOfScale)];
      most = std::max(most, weight * in.v.scale(j));
    }
    const double divisor = function == AttentionFunction::softmax && sum > 0.0 ? sum : 1.0;
    for (int64_t w = 0; w < c.values; ++w) {
      double expected = 0.0, size = 0.0, allowed = 0.0;
      for (int64_t j = 0; j < c.keys; ++j) {
        const double weight = weights[static_cast<size_t>(j)] / divisor;
        expected += weight * in.v(j, w);
        size += weight * std::abs(in.v(j, w));
        if (weight > 0.0)
          allowed +=
              largest[static_cast<size_t>(j / kKeysOfScale)] / 255.0 * std::abs(in.v.integer(j, w)) / divisor;
      }
      ASSERT_NEAR(out(i, w), expected, allowed + 3e-4 * size + 1e-6) << "row " << i << ", column " << w;
    }
  }
}

TEST(ByteAttention, IsThatOfItsRoundedInputs) {
  const std::vector<Case> cases = {
      {1, 1, 1, 1},
      {5, 7, 3, 2, 0, false, true},
      {13, 33, 30, 31, 0, false, true, true},
      {65, 129, 32, 64, 0, false, false, true},
      {70, 70, 16, 33, 0, true, false, true},
      {64, 300, 12, 40, 236, true, true, true},
      {200, 200, 8, 16, 0, true, false, false, true},
      {130, 257, 128, 96, 127, true, false, true},
      {9, 1025, 6, 5, 0, false, true, true},
      {130, 1150, 10, 35, 1020, true, false, true},
      {700, 700, 5, 9, 0, true},
  };
  std::mt19937 random(1);
  for (const Case& c : cases)
    for (const auto function :
         {AttentionFunction::softmax, AttentionFunction::relu2, AttentionFunction::laplace}) {
      SCOPED_TRACE(to_string(function));
      SCOPED_TRACE(c);
      const Inputs in(c, random);
      for_each_target([&] {
        Matrix out(c.queries, c.values);
        const auto scratch = aligned_floats(byte_attention_scratch(c.queries, c.shared, c.values));
        byte_attention(in.block(c, function), 0, c.queries, out.data(), out.stride(), scratch.get());
        expect_attention(c, function, in, out);
      });
    }
}

// Weights too small for a step of their own beside a large one are neither lost nor all rounded up.
TEST(ByteAttention, ManySmallWeightsKeepTheirSum) {
  const Case c{1, 128, 4, 3, 0, false, false, true};
  std::mt19937 random(4);
  Inputs in(c, random);
  std::fill(in.q.scales.begin(), in.q.scales.end(), 0.0f);
  std::fill(in.v.numbers.begin(), in.v.numbers.end(), int8_t{100});
  std::fill(in.v.scales.begin(), in.v.scales.end(), 0.01f);
  for (const auto function : {AttentionFunction::softmax, AttentionFunction::laplace})
    for (const float ratio : {600.0f, 2500.0f, 4000.0f, 5000.0f}) {
      SCOPED_TRACE(::testing::Message() << to_string(function) << ", 1 to " << ratio);
      std::fill_n(in.bias.data(), c.keys, 0.0f);
      in.bias.data()[40] = std::log(ratio);
      const double small = weight_of(function, 0.0), large = weight_of(function, std::log(ratio));
      const double sum = large + 127 * small;
      const double expected = function == AttentionFunction::softmax ? 1.0 : sum;
      for_each_target([&] {
        Matrix out(c.queries, c.values);
        const auto scratch = aligned_floats(byte_attention_scratch(c.queries, c.shared, c.values));
        byte_attention(in.block(c, function), 0, 1, out.data(), out.stride(), scratch.get());
        for (int64_t w = 0; w < c.values; ++w) EXPECT_NEAR(out(0, w), expected, 0.005 * expected);
      });
    }
}

// A hidden key does not count, however large what earlier keys left over.
TEST(ByteAttention, HiddenKeysGetNothing) {
  const Case c{1, 64, 4, 1, 0, false, true, true};
  std::mt19937 random(5);
  Inputs in(c, random);
  std::fill(in.q.scales.begin(), in.q.scales.end(), 0.0f);
  std::fill_n(in.bias.data(), c.keys, 0.0f);
  in.bias.data()[0] = std::log(600.0f);
  for (int64_t j = 0; j < c.keys; ++j) {
    const bool hidden = j >= 16 && j < 48;
    in.padding[static_cast<size_t>(j)] = hidden ? 1 : 0;
    in.v.numbers[static_cast<size_t>(j * in.v.stride())] = hidden ? 100 : 0;
  }
  for_each_target([&] {
    Matrix out(1, 1);
    const auto scratch = aligned_floats(byte_attention_scratch(1, c.shared, 1));
    byte_attention(in.block(c, AttentionFunction::softmax), 0, 1, out.data(), out.stride(), scratch.get());
    EXPECT_EQ(out(0, 0), 0.0);
  });
}

// So that neither the number of threads nor the cut of a prompt changes an answer.
TEST(ByteAttention, ARangeOfQueriesGivesTheSameBits) {
  const Case c{100, 650, 20, 24, 550, true, false, true};
  std::mt19937 random(2);
  const Inputs in(c, random);
  const ByteAttentionBlock block = in.block(c, AttentionFunction::softmax);
  for_each_target([&] {
    const auto scratch = aligned_floats(byte_attention_scratch(c.queries, c.shared, c.values));
    Matrix whole(c.queries, c.values), pieces(c.queries, c.values);
    byte_attention(block, 0, c.queries, whole.data(), whole.stride(), scratch.get());
    for (const auto& [begin, end] : {std::pair{0, 17}, {17, 18}, {18, 18}, {18, 100}})
      byte_attention(block, begin, end, pieces.data(), pieces.stride(), scratch.get());
    for (int64_t i = 0; i < c.queries; ++i)
      for (int64_t w = 0; w < c.values; ++w) ASSERT_EQ(whole(i, w), pieces(i, w)) << i << ", " << w;
  });
}

TEST(ByteAttention, AQueryThatSeesNoKeyGivesZeroAndNaNStaysNaN) {
  const Case c{3, 5, 6, 9, 0, false, true};
  std::mt19937 random(3);
  Inputs in(c, random);
  std::fill(in.padding.begin(), in.padding.end(), uint8_t{1});
  const auto run = [&](AttentionFunction function) {
    Matrix out(c.queries, c.values);
    const auto scratch = aligned_floats(byte_attention_scratch(c.queries, c.shared, c.values));
    byte_attention(in.block(c, function), 0, c.queries, out.data(), out.stride(), scratch.get());
    return out;
  };
  for_each_target([&] {
    for (const auto function :
         {AttentionFunction::softmax, AttentionFunction::relu2, AttentionFunction::laplace}) {
      SCOPED_TRACE(to_string(function));
      in.padding.assign(in.padding.size(), 1);
      const Matrix blind = run(function);
      for (int64_t w = 0; w < c.values; ++w) EXPECT_EQ(blind(0, w), 0.0);

      in.padding.assign(in.padding.size(), 0);
      const float scale = std::exchange(in.v.scales[2], std::numeric_limits<float>::quiet_NaN());
      const Matrix bad = run(function);
      in.v.scales[2] = scale;
      for (int64_t w = 0; w < c.values; ++w) EXPECT_TRUE(std::isnan(bad(1, w)));
    }
  });
}

}  // namespace
}  // namespace mega::kernels
