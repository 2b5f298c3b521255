// The attention kernels against plain loops in double, on every instruction set this CPU has.
#include "mega/kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using mega::testing::expect_matrix;
using mega::testing::for_each_target;
using mega::testing::Matrix;
using mega::testing::NarrowMatrix;

struct Case {
  int64_t queries, keys, shared, values, first_position = 0;
  AttentionFunction function = AttentionFunction::softmax;
  bool causal = false, padded = false, biased = false, dropped = false, scale_by_position = false;

  friend std::ostream& operator<<(std::ostream& stream, const Case& c) {
    return stream << to_string(c.function) << (c.causal ? " causal" : "") << (c.padded ? " padded" : "")
                  << (c.biased ? " biased" : "") << (c.dropped ? " dropped" : "")
                  << (c.scale_by_position ? " by position" : "") << " Q=" << c.queries << " K=" << c.keys
                  << " Z=" << c.shared << " V=" << c.values << " first=" << c.first_position;
  }
};

// Inputs of one block.
class Inputs {
 public:
  Inputs(const Case& c, std::mt19937& random)
      : q(c.queries, c.shared),
        k(c.keys, c.shared),
        v(c.keys, c.values),
        dout(c.queries, c.values),
        bias(1, c.first_position + c.queries + c.keys - 1 + kBiasSlack),
        padding(static_cast<size_t>(c.keys)),
        case_(c) {
    for (Matrix* m : {&q, &k, &v, &dout, &bias}) m->randomize(random);
    for (uint8_t& p : padding) p = random() % 4 == 0 ? 255 : 0;
  }

  AttentionBlock block() const { return block_of(q, k, v); }

  template <class M>
  using BlockOf = AttentionBlockOf<std::remove_cvref_t<decltype(*std::declval<const M&>().data())>>;

  template <class M>
  BlockOf<M> block_of(const M& queries, const M& keys, const M& values) const {
    BlockOf<M> b;
    b.queries = case_.queries;
    b.keys = case_.keys;
    b.shared = case_.shared;
    b.values = case_.values;
    b.q = queries.data();
    b.k = keys.data();
    b.v = values.data();
    b.q_stride = queries.stride();
    b.k_stride = keys.stride();
    b.v_stride = values.stride();
    b.function = case_.function;
    b.first_position = case_.first_position;
    b.causal = case_.causal;
    b.scale = case_.scale_by_position ? 1.5f : 0.25f;
    b.scale_by_position = case_.scale_by_position;
    if (case_.biased) b.bias = bias.data() + centre();
    if (case_.padded) b.padding = padding.data();
    if (case_.dropped) b.dropout = {0.3f, 17};
    b.dropout_row = 5;
    return b;
  }

  // Index of offset 0 in the bias.
  int64_t centre() const { return case_.first_position + case_.queries - 1; }

  Matrix q, k, v, dout, bias;
  std::vector<uint8_t> padding;

 private:
  Case case_;
};

// The definition, in double.
class Expected {
 public:
  using Table = std::vector<std::vector<double>>;

  Expected(const Case& c, const Inputs& in) {
    const AttentionBlock b = in.block();
    out = Table(size(c.queries), std::vector<double>(size(c.values)));
    dq = Table(size(c.queries), std::vector<double>(size(c.shared)));
    dk = Table(size(c.keys), std::vector<double>(size(c.shared)));
    dv = Table(size(c.keys), std::vector<double>(size(c.values)));
    dbias = Table(1, std::vector<double>(size(in.bias.columns())));
    normalizer.resize(size(c.queries));
    std::vector<float> mask(
        size((b.dropout_row + static_cast<uint64_t>(c.queries)) * static_cast<uint64_t>(c.keys)));
    dropout_mask_rows(b.dropout, mask.data(), 0, static_cast<int64_t>(b.dropout_row) + c.queries, c.keys);
    std::vector<double> weight(size(c.keys)), slope(size(c.keys)), kept(size(c.keys)), dweight(size(c.keys));

    for (int64_t i = 0; i < c.queries; ++i) {
      const int64_t position = c.first_position + i;
      const double scale =
          static_cast<double>(b.scale) / (c.scale_by_position ? static_cast<double>(position + 1) : 1.0);
      const auto seen = [&](int64_t j) {
        return !(c.causal && j > position) && !(c.padded && in.padding[size(j)] != 0);
      };
      std::vector<double> score(size(c.keys), -std::numeric_limits<double>::infinity());
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        if (!seen(j)) continue;
        double s = 0;
        for (int64_t z = 0; z < c.shared; ++z) s += in.q(i, z) * in.k(j, z);
        s *= scale;
        if (c.biased) s += in.bias(0, in.centre() + j - position);
        score[size(j)] = s;
        largest = std::max(largest, s);
      }
      for (int64_t j = 0; j < c.keys; ++j) {
        const double s = score[size(j)];
        weigh(c.function, s - (c.function == AttentionFunction::softmax ? largest : 0.0), seen(j),
              weight[size(j)], slope[size(j)]);
        sum += weight[size(j)];
      }
      normalizer[size(i)] = largest + std::log(sum);  // NaN where the query sees no key
      double inner = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        if (c.function == AttentionFunction::softmax && sum > 0) weight[size(j)] /= sum;
        const float factor = mask[size((static_cast<int64_t>(b.dropout_row) + i) * c.keys + j)];
        kept[size(j)] = c.dropped ? static_cast<double>(factor) : 1.0;
        double dw = 0;
        for (int64_t w = 0; w < c.values; ++w) {
          out[size(i)][size(w)] += weight[size(j)] * kept[size(j)] * in.v(j, w);
          dv[size(j)][size(w)] += weight[size(j)] * kept[size(j)] * in.dout(i, w);
          dw += in.dout(i, w) * in.v(j, w);
        }
        dweight[size(j)] = dw * kept[size(j)];
        inner += weight[size(j)] * dweight[size(j)];
      }
      for (int64_t j = 0; j < c.keys; ++j) {
        const double ds = c.function == AttentionFunction::softmax
                              ? weight[size(j)] * (dweight[size(j)] - inner)
                              : slope[size(j)] * dweight[size(j)];
        if (in.centre() + j - position >= 0) dbias[0][size(in.centre() + j - position)] += ds;
        for (int64_t z = 0; z < c.shared; ++z) {
          dq[size(i)][size(z)] += ds * scale * in.k(j, z);
          dk[size(j)][size(z)] += ds * scale * in.q(i, z);
        }
      }
    }
  }

  Table out, dq, dk, dv, dbias;
  std::vector<double> normalizer;

 private:
  static size_t size(auto n) { return static_cast<size_t>(n); }

  static void weigh(AttentionFunction function, double s, bool seen, double& weight, double& slope) {
    weight = slope = 0;
    if (!seen) return;
    switch (function) {
      case AttentionFunction::softmax:
        weight = std::exp(s);
        break;
      case AttentionFunction::relu2:
        weight = s > 0 ? s * s : 0;
        slope = s > 0 ? 2 * s : 0;
        break;
      case AttentionFunction::laplace: {
        const double x = (s - 0.707107) / (0.282095 * M_SQRT2);
        weight = 0.5 * (1 + std::erf(x));
        slope = std::exp(-x * x) / (0.282095 * std::sqrt(2 * M_PI));
      }
    }
  }
};

// Splits [0, n) into random pieces.
std::vector<std::pair<int64_t, int64_t>> pieces(int64_t n, std::mt19937& random) {
  std::vector<std::pair<int64_t, int64_t>> result;
  for (int64_t begin = 0, end = 0; begin < n; begin = end) {
    end = std::min(n, begin + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)));
    result.emplace_back(begin, end);
  }
  return result;
}

auto scratch_of(const Case& c) {
  return mega::testing::aligned_floats(attention_scratch(c.queries, c.shared, c.values));
}

void check(const Case& c, std::mt19937& random) {
  SCOPED_TRACE(::testing::Message() << c);
  const Inputs in(c, random);
  const Expected expected(c, in);
  const AttentionBlock block = in.block();
  const auto scratch = scratch_of(c);
  const auto table = [](const Expected::Table& t) {
    return [&t](int64_t r, int64_t k) { return t[static_cast<size_t>(r)][static_cast<size_t>(k)]; };
  };
  for_each_target([&] {
    Matrix out(c.queries, c.values), normalizer(1, c.queries);
    for (const auto& [begin, end] : pieces(c.queries, random))
      attention_forward(block, begin, end, out.data(), out.stride(), normalizer.data(), scratch.get());
    expect_matrix(out, table(expected.out), 1e-5, "out", 0.1);
    if (c.function == AttentionFunction::softmax) {
      for (int64_t i = 0; i < c.queries; ++i) {
        const double e = expected.normalizer[static_cast<size_t>(i)];
        if (std::isnan(e)) {
          ASSERT_EQ(normalizer(0, i), std::numeric_limits<float>::infinity());
        } else {
          ASSERT_NEAR(static_cast<double>(normalizer(0, i)), e, 3e-6 * std::max(1.0, std::abs(e)));
        }
      }
    }

    // dq and dbias are accumulated into, dk and dv are overwritten.
    Matrix dq(c.queries, c.shared), dk(c.keys, c.shared), dv(c.keys, c.values), dbias(1, in.bias.columns());
    dq.fill([] { return 0.0f; });
    dbias.fill([] { return 0.0f; });
    const AttentionGradients gradients{
        in.dout.data(),    in.dout.stride(), out.data(),  out.stride(),
        normalizer.data(), dq.data(),        dq.stride(), dk.data(),
        dk.stride(),       dv.data(),        dv.stride(), c.biased ? dbias.data() + in.centre() : nullptr};
    for (const auto& [begin, end] : pieces(c.keys, random))
      attention_backward(block, begin, end, gradients, scratch.get());
    expect_matrix(dq, table(expected.dq), 1e-5, "dq", 1);
    expect_matrix(dk, table(expected.dk), 1e-5, "dk", 1);
    expect_matrix(dv, table(expected.dv), 1e-5, "dv", 1);
    if (c.biased) expect_matrix(dbias, table(expected.dbias), 1e-5, "dbias", 1);
  });
}

// The same in bf16: inputs are exact, weights and score gradients are rounded once (2^-9 of each term of a
// sum), and so are the outputs that the backward pass gets.
void check_narrow(const Case& c, std::mt19937& random) {
  constexpr double kTolerance = 1.0 / 64;
  SCOPED_TRACE(::testing::Message() << c);
  Inputs in(c, random);
  const NarrowMatrix q(in.q), k(in.k), v(in.v), dout(in.dout);
  q.widen(in.q);
  k.widen(in.k);
  v.widen(in.v);
  dout.widen(in.dout);
  const Expected expected(c, in);
  const NarrowAttentionBlock block = in.block_of(q, k, v);
  const auto scratch = scratch_of(c);
  const auto table = [](const Expected::Table& t) {
    return [&t](int64_t r, int64_t w) { return t[static_cast<size_t>(r)][static_cast<size_t>(w)]; };
  };
  for_each_target([&] {
    Matrix out(c.queries, c.values), normalizer(1, c.queries);
    for (const auto& [begin, end] : pieces(c.queries, random))
      attention_forward(block, begin, end, out.data(), out.stride(), normalizer.data(), scratch.get());
    expect_matrix(out, table(expected.out), kTolerance, "out", 1);
    const NarrowMatrix rounded(out);
    Matrix dq(c.queries, c.shared), dk(c.keys, c.shared), dv(c.keys, c.values), dbias(1, in.bias.columns());
    dq.fill([] { return 0.0f; });
    dbias.fill([] { return 0.0f; });
    const NarrowAttentionGradients gradients{
        dout.data(),       dout.stride(), rounded.data(), rounded.stride(),
        normalizer.data(), dq.data(),     dq.stride(),    dk.data(),
        dk.stride(),       dv.data(),     dv.stride(),    c.biased ? dbias.data() + in.centre() : nullptr};
    for (const auto& [begin, end] : pieces(c.keys, random))
      attention_backward(block, begin, end, gradients, scratch.get());
    // Score gradients are differences of numbers of size sqrt(V), one of which is made of the rounded output.
    const double size = std::sqrt(static_cast<double>(c.values));
    expect_matrix(dq, table(expected.dq), kTolerance, "dq", size);
    expect_matrix(dk, table(expected.dk), kTolerance, "dk", size);
    expect_matrix(dv, table(expected.dv), kTolerance, "dv", 1);
    if (c.biased) expect_matrix(dbias, table(expected.dbias), kTolerance, "dbias", size);
  });
}

template <class Check>
void check_cases(const Check& check) {
  std::mt19937 random(1);
  const std::vector<int64_t> lengths = {1, 2, 15, 33, 63, 64, 65, 100, 127, 128, 129, 150, 192, 257, 300};
  const std::vector<int64_t> widths = {1, 3, 8, 16, 19, 31, 32, 37, 65};
  const auto pick = [&](const std::vector<int64_t>& list) { return list[random() % list.size()]; };
  for (const auto function :
       {AttentionFunction::softmax, AttentionFunction::relu2, AttentionFunction::laplace}) {
    for (int bits = 0; bits < 32; ++bits) {
      for (int repeat = 0; repeat < 4; ++repeat) {
        Case c{pick(lengths), pick(lengths), pick(widths), pick(widths)};
        c.function = function;
        c.causal = bits & 1;
        c.padded = bits & 2;
        c.biased = bits & 4;
        c.dropped = bits & 8;
        c.scale_by_position = function != AttentionFunction::softmax && (bits & 16);
        if (bits & 16) c.first_position = static_cast<int64_t>(random() % 200);
        check(c, random);
      }
    }
  }
}

TEST(AttentionKernel, AgreesWithLoops) { check_cases(check); }

TEST(AttentionKernel, AgreesWithLoopsInBf16) { check_cases(check_narrow); }

// One key with a value of 1, so that the output is its weight, which is rounded once (2^-8); of softmax two
// keys with scores 0 and s, so that the normalizer, which is not rounded, is log(1 + exp(s)).
TEST(AttentionKernel, WeightsInBf16AreAsExactAsBf16KeepsThem) {
  constexpr int64_t kQueries = 1000;
  Matrix scores(kQueries, 1), zero_and_one(2, 1);
  float next = -8.0f;
  scores.fill([&] { return next += 0.0115f; });
  const NarrowMatrix q(scores);
  q.widen(scores);
  zero_and_one(0, 0) = 0.0f;
  zero_and_one(1, 0) = 1.0f;
  const NarrowMatrix k(zero_and_one);
  NarrowAttentionBlock block;
  block.queries = kQueries;
  block.shared = block.values = 1;
  block.q = q.data(), block.q_stride = q.stride();
  block.k_stride = block.v_stride = k.stride();
  const auto scratch = mega::testing::aligned_floats(attention_scratch(kQueries, 1, 1));
  for_each_target([&] {
    Matrix out(kQueries, 1), normalizer(1, kQueries);
    block.keys = 1;
    block.k = block.v = k.data() + k.stride();
    block.function = AttentionFunction::laplace;
    attention_forward(block, 0, kQueries, out.data(), out.stride(), normalizer.data(), scratch.get());
    for (int64_t i = 0; i < kQueries; ++i) {
      const double x = (static_cast<double>(scores(i, 0)) - 0.707107) / (0.282095 * std::sqrt(2.0));
      const double weight = 0.5 * std::erfc(-x);
      if (weight < 1e-6) continue;  // where the rounding of x^2 counts, too
      ASSERT_NEAR(out(i, 0), weight, weight * (std::ldexp(1.0, -8) + std::ldexp(1.0, -11))) << scores(i, 0);
    }
    block.keys = 2;
    block.k = block.v = k.data();
    block.function = AttentionFunction::softmax;
    attention_forward(block, 0, kQueries, out.data(), out.stride(), normalizer.data(), scratch.get());
    for (int64_t i = 0; i < kQueries; ++i) {
      const double e = std::exp(static_cast<double>(scores(i, 0)));
      ASSERT_NEAR(normalizer(0, i), std::log1p(e), std::ldexp(1.0, -11) * std::min(e, 1 / e) + 2e-6);
    }
  });
}

// With a causal mask and padding at the first keys, the first queries see no key.
TEST(AttentionKernel, QueryWithoutVisibleKeysGivesZero) {
  for (const auto function :
       {AttentionFunction::softmax, AttentionFunction::relu2, AttentionFunction::laplace}) {
    const Case c{140, 140, 5, 7, 0, function, true, true, true};
    std::mt19937 random(2);
    Inputs in(c, random);
    std::fill_n(in.padding.begin(), 131, uint8_t{1});
    const AttentionBlock block = in.block();
    const auto scratch = scratch_of(c);
    for_each_target([&] {
      Matrix out(c.queries, c.values), normalizer(1, c.queries), dq(c.queries, c.shared),
          dk(c.keys, c.shared), dv(c.keys, c.values), dbias(1, in.bias.columns());
      dq.fill([] { return 0.0f; });
      dbias.fill([] { return 0.0f; });
      attention_forward(block, 0, c.queries, out.data(), out.stride(), normalizer.data(), scratch.get());
      attention_backward(
          block, 0, c.keys,
          {in.dout.data(), in.dout.stride(), out.data(), out.stride(), normalizer.data(), dq.data(),
           dq.stride(), dk.data(), dk.stride(), dv.data(), dv.stride(), dbias.data() + in.centre()},
          scratch.get());
      for (int64_t i = 0; i < 131; ++i) {
        for (int64_t w = 0; w < c.values; ++w) ASSERT_EQ(out(i, w), 0.0f);
        for (int64_t z = 0; z < c.shared; ++z) ASSERT_EQ(dq(i, z), 0.0f);
        for (int64_t z = 0; z < c.shared; ++z) ASSERT_EQ(dk(i, z), 0.0f);
        for (int64_t w = 0; w < c.values; ++w) ASSERT_EQ(dv(i, w), 0.0f);
      }
      for (const Matrix* m : {&out, &dq, &dk, &dv, &dbias})
        for (int64_t r = 0; r < m->rows(); ++r)
          for (int64_t w = 0; w < m->columns(); ++w) ASSERT_TRUE(std::isfinite((*m)(r, w)));
    });
  }
}

// Scores in the thousands: softmax selects the largest, and nothing overflows.
TEST(AttentionKernel, HugeScoresStayFinite) {
  std::mt19937 random(3);
  const Case c{70, 200, 4, 5};
  Inputs in(c, random);
  in.q.randomize(random, 100.0f);
  in.k.randomize(random, 100.0f);
  const AttentionBlock block = in.block();
  const auto scratch = scratch_of(c);
  for_each_target([&] {
    Matrix out(c.queries, c.values), normalizer(1, c.queries);
    attention_forward(block, 0, c.queries, out.data(), out.stride(), normalizer.data(), scratch.get());
    for (int64_t i = 0; i < c.queries; ++i)
      for (int64_t w = 0; w < c.values; ++w) ASSERT_LE(std::abs(out(i, w)), 5.0f);
  });
}

// NaN must propagate to the output, so that a broken parameter is noticed.
TEST(AttentionKernel, NanPropagates) {
  for (const auto function :
       {AttentionFunction::softmax, AttentionFunction::relu2, AttentionFunction::laplace}) {
    SCOPED_TRACE(to_string(function));
    std::mt19937 random(4);
    const Case c{3, 150, 8, 8, 0, function};
    Inputs in(c, random);
    in.q(1, 2) = std::numeric_limits<float>::quiet_NaN();
    const auto scratch = scratch_of(c);
    for_each_target([&] {
      Matrix out(c.queries, c.values), normalizer(1, c.queries);
      attention_forward(in.block(), 0, c.queries, out.data(), out.stride(), normalizer.data(), scratch.get());
      for (int64_t w = 0; w < c.values; ++w) {
        EXPECT_TRUE(std::isfinite(out(0, w)));
        EXPECT_TRUE(std::isnan(out(1, w)));
        EXPECT_TRUE(std::isfinite(out(2, w)));
      }
    });
  }
}

}  // namespace
}  // namespace mega::kernels
