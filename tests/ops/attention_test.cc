// Attention: fused against reference over every combination of settings, gradients of the reference against
// finite differences, and rejected inputs.
#include "mega/ops/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "mega/base/error.h"
#include "tests/base/helpers.h"
#include "tests/compare.h"
#include "tests/gradcheck.h"

namespace mega::ops {
namespace {

using mega::testing::compare_forms;
using mega::testing::contains;
using mega::testing::error_of;
using mega::testing::Tensors;
using torch::Tensor;

constexpr AttentionFunction kFunctions[] = {AttentionFunction::softmax, AttentionFunction::relu2,
                                            AttentionFunction::laplace};

enum class Padding { none, some, most, all };

Tensor random_mask(Padding padding, int64_t batch, int64_t keys) {
  switch (padding) {
    case Padding::none:
      return {};
    case Padding::some:
      return torch::rand({batch, keys}) < 0.3;
    case Padding::most:
      return torch::rand({batch, keys}) < 0.8;
    case Padding::all:
      return torch::ones({batch, keys}, torch::kBool);
  }
  return {};
}

struct Case {
  int64_t batch, queries, keys, shared, values;
  AttentionSettings settings;
  Padding padding = Padding::none;
  bool biased = false;
  bool own_bias = false;  // one bias per head

  Tensors inputs(torch::ScalarType type = torch::kFloat32) const {
    const auto options = torch::TensorOptions(type);
    const bool chunked = settings.chunk > 0 && settings.chunk < keys;
    const int64_t rows = chunked ? settings.chunk : settings.first_position + queries;
    const int64_t columns = chunked ? settings.chunk : keys;
    const int64_t heads = settings.heads, offsets = rows - 1 + (settings.causal ? 1 : columns);
    const Tensor bias = torch::randn({heads, offsets}, options);
    return {torch::randn({batch, queries, heads * shared}, options),
            torch::randn({batch, keys, heads * shared}, options),
            torch::randn({batch, keys, heads * values}, options),
            biased ? own_bias ? bias : bias[0] : Tensor()};
  }
  Tensor operator()(const Tensors& in, const Tensor& mask) const {
    const bool chunked = settings.chunk > 0 && settings.chunk < keys;
    const int64_t rows = chunked ? settings.chunk : settings.first_position + queries;
    return attention(in[0], in[1], in[2], {in[3], 1 - rows}, mask, settings);
  }
  friend std::ostream& operator<<(std::ostream& stream, const Case& c) {
    return stream << to_string(c.settings.function) << (c.settings.causal ? " causal" : "")
                  << (c.biased ? " biased" : "") << (c.settings.dropout.active() ? " dropout" : "")
                  << " padding=" << static_cast<int>(c.padding) << " chunk=" << c.settings.chunk
                  << " B=" << c.batch << " Q=" << c.queries << " K=" << c.keys << " Z=" << c.shared
                  << " V=" << c.values << " H=" << c.settings.heads << (c.own_bias ? " with own bias" : "")
                  << " content=" << c.settings.content << " first=" << c.settings.first_position;
  }
};

void check(const Case& c) {
  SCOPED_TRACE(::testing::Message() << c);
  const Tensor mask = random_mask(c.padding, c.batch, c.keys);
  // The floor is for Laplace: where all weights are tiny, 1 + erf has lost their digits in any float form.
  compare_forms([&](const Tensors& in) { return c(in, mask); }, c.inputs(), 0.1);
}

class Picker {
 public:
  explicit Picker(unsigned seed) : random_(seed) {}
  int64_t operator()(std::initializer_list<int64_t> list) { return list.begin()[random_() % list.size()]; }

 private:
  std::mt19937 random_;
};

// Every combination of function, causal mask, bias and padding, at every length up to a little over three
// chunks.
TEST(Attention, FormsAgreeInChunks) {
  torch::manual_seed(1);
  Picker pick(1);
  for (const auto function : kFunctions) {
    for (int bits = 0; bits < 8; ++bits) {
      for (int64_t length = 1; length <= 13; ++length) {
        Case c{pick({1, 2, 3}), length, length, pick({1, 3, 8, 19}), pick({1, 5, 16, 33}), {}};
        c.settings.function = function;
        c.settings.causal = bits & 1;
        c.settings.chunk = pick({-1, 3, 4, 4, 4, 20});
        c.biased = bits & 2;
        if (bits & 4) c.settings.dropout = {0.3f, 11};
        c.padding = static_cast<Padding>(pick({0, 1, 1, 2, 3}));
        check(c);
      }
    }
  }
}

// Chunks and sequences longer than the kernel's tiles; the unscaled columns of TUPE.
TEST(Attention, FormsAgreeBeyondTiles) {
  torch::manual_seed(2);
  Picker pick(2);
  for (const auto function : kFunctions) {
    for (int repeat = 0; repeat < 12; ++repeat) {
      const int64_t length = pick({63, 64, 129, 200, 300, 391});
      Case c{pick({1, 2}), length, length, pick({8, 31, 64}), pick({16, 37, 80}), {}};
      c.settings.function = function;
      c.settings.causal = repeat % 2;
      c.settings.chunk = pick({-1, 64, 100, 130});
      c.settings.content = pick({0, c.shared / 2, c.shared});
      c.biased = repeat % 4 < 2;
      if (repeat % 3 == 0) c.settings.dropout = {0.1f, 12};
      c.padding = static_cast<Padding>(pick({0, 1, 2}));
      check(c);
    }
  }
}

// Different numbers of queries and keys: cross-attention, and the continuation of a stream.
TEST(Attention, FormsAgreeForUnequalQueriesAndKeys) {
  torch::manual_seed(3);
  Picker pick(3);
  for (const auto function : kFunctions) {
    for (int repeat = 0; repeat < 24; ++repeat) {
      Case c{pick({1, 3}), pick({1, 2, 7, 70}), pick({1, 5, 66, 140}), pick({4, 9}), pick({6, 17}), {}};
      c.settings.function = function;
      c.settings.content = pick({0, 3});
      c.settings.causal = repeat % 2;
      if (c.settings.causal) c.settings.first_position = c.keys - std::min(c.queries, c.keys);
      if (c.settings.causal) c.queries = std::min(c.queries, c.keys);
      if (!c.settings.causal) c.settings.first_position = pick({0, 4});
      c.biased = repeat % 4 < 2;
      if (repeat % 3 == 0) c.settings.dropout = {0.2f, 13};
      c.padding = static_cast<Padding>(pick({0, 1, 2}));
      check(c);
    }
  }
}

// Heads in chunks and beyond tiles, with one bias for all heads and with one each.
TEST(Attention, FormsAgreeForHeads) {
  torch::manual_seed(6);
  Picker pick(6);
  for (const auto function : kFunctions) {
    for (int bits = 0; bits < 16; ++bits) {
      const int64_t length = pick({1, 5, 12, 70, 150});
      Case c{pick({1, 2, 3}), length, length, pick({3, 8, 19}), pick({5, 16, 33}), {}};
      c.settings.function = function;
      c.settings.heads = pick({2, 3, 5});
      c.settings.causal = bits & 1;
      c.settings.chunk = pick({-1, -1, 4, 66});
      c.biased = bits & 2;
      c.own_bias = bits & 4;
      if (bits & 8) c.settings.dropout = {0.3f, 15};
      c.padding = static_cast<Padding>(pick({0, 1, 2}));
      check(c);
    }
  }
}

// Heads are independent.
TEST(Attention, HeadsAreIndependent) {
  torch::manual_seed(7);
  for (const Form form : {Form::reference, Form::fused}) {
    const FormGuard guard(form);
    Case c{2, 9, 9, 4, 6, {}};
    c.settings.heads = 3;
    c.settings.causal = true;
    c.biased = c.own_bias = true;
    const Tensors in = c.inputs();
    const Tensor out = c(in, {});
    AttentionSettings single = c.settings;
    single.heads = 1;
    for (int64_t h = 0; h < 3; ++h) {
      const Tensor alone = attention(in[0].narrow(2, 4 * h, 4), in[1].narrow(2, 4 * h, 4),
                                     in[2].narrow(2, 6 * h, 6), {in[3][h], 1 - c.queries}, {}, single);
      mega::testing::expect_close(out.narrow(2, 6 * h, 6), alone, 1e-6, "head " + std::to_string(h));
    }
  }
}

TEST(Attention, GradientsOfTheReference) {
  torch::manual_seed(4);
  for (const auto function : kFunctions) {
    for (int bits = 0; bits < 16; ++bits) {
      Case c{2, 5, 5, 4, 3, {}};
      c.settings.function = function;
      c.settings.causal = bits & 1;
      c.settings.chunk = bits & 2 ? 2 : -1;
      c.settings.content = bits & 4 ? 3 : 0;
      c.biased = true;
      if (bits & 8) c.settings.dropout = {0.3f, 14};
      SCOPED_TRACE(::testing::Message() << c);
      const Tensor mask = random_mask(bits & 1 ? Padding::none : Padding::some, c.batch, c.keys);
      Tensors inputs = c.inputs(torch::kFloat64);
      for (Tensor& x : inputs) x.requires_grad_();
      check_gradients([&] { return Tensors{c(inputs, mask)}; }, inputs);
    }
  }
}

// A query that sees no key gives 0, and so do its gradients; a chunk of only padding gives no NaN.
TEST(Attention, QueryWithoutVisibleKeysGivesZero) {
  for (const Form form : {Form::reference, Form::fused}) {
    const FormGuard guard(form);
    for (const auto function : kFunctions) {
      AttentionSettings settings;
      settings.function = function;
      settings.causal = true;
      settings.chunk = 4;
      Tensor mask = torch::zeros({1, 10}, torch::kBool);
      mask.slice(1, 0, 2) = true;  // the first chunk starts with padding
      mask.slice(1, 4, 8) = true;  // the second is all padding
      Tensors in = {torch::randn({1, 10, 3}), torch::randn({1, 10, 3}), torch::randn({1, 10, 2})};
      for (Tensor& x : in) x.requires_grad_();
      const Tensor out = attention(in[0], in[1], in[2], {}, mask, settings);
      EXPECT_EQ(out.slice(1, 0, 2).abs().max().item<float>(), 0.0f);
      out.square().sum().backward();
      for (const Tensor& x : in) EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
      EXPECT_TRUE(out.isfinite().all().item<bool>());
      EXPECT_EQ(in[0].grad().slice(1, 0, 2).abs().max().item<float>(), 0.0f);
    }
  }
}

// Averaged over many masks, attention with dropout equals attention without.
TEST(Attention, DropoutKeepsTheMean) {
  torch::manual_seed(5);
  constexpr int kMasks = 2000;
  const Tensor q = torch::randn({1, 4, 3}), k = torch::randn({1, 30, 3}), v = torch::randn({1, 30, 5});
  for (const auto function : kFunctions) {
    AttentionSettings settings;
    settings.function = function;
    const Tensor expected = attention(q, k, v, {}, {}, settings);
    Tensor sum = torch::zeros_like(expected), squares = torch::zeros_like(expected);
    for (uint64_t seed = 0; seed < kMasks; ++seed) {
      settings.dropout = {0.4f, seed};
      const Tensor difference = attention(q, k, v, {}, {}, settings) - expected;
      sum += difference;
      squares += difference.square();
    }
    const Tensor deviations = sum.abs() / squares.sqrt();
    EXPECT_GT(squares.min().item<float>(), 0.0f);
    EXPECT_LT(deviations.max().item<float>(), 5.0f) << to_string(function);
  }
}

TEST(Attention, EmptyBatch) {
  const FormGuard guard(Form::fused);
  Tensor q = torch::randn({0, 5, 3}).requires_grad_();
  const Tensor out = attention(q, q, q, {}, {}, {});
  EXPECT_EQ(out.sizes(), q.sizes());
  out.sum().backward();
}

// An error instead of silent zeros.
TEST(Attention, HasNoSecondDerivative) {
  const FormGuard guard(Form::fused);
  const Tensor q = torch::randn({1, 5, 3}).requires_grad_();
  const Tensor out = attention(q, q, q, {}, {}, {});
  EXPECT_PRED2(contains, error_of([&] { torch::autograd::grad({out.sum()}, {q}, {}, true, true); }),
               "no second derivative");
}

TEST(Attention, RejectsInvalidInputs) {
  const Tensor x = torch::randn({2, 6, 4});
  const auto message = [&](const Tensor& q, const RelativeBias& bias, const Tensor& mask,
                           AttentionSettings settings) {
    return error_of([&] { attention(q, x, x, bias, mask, settings); });
  };
  AttentionSettings plain, zero, chunked;
  zero.chunk = 0;
  chunked.chunk = 2;
  EXPECT_PRED2(contains, message(torch::randn({2, 6, 5}), {}, {}, plain), "must be (B, Q, Z)");
  EXPECT_PRED2(contains, message(torch::randn({3, 6, 4}), {}, {}, plain), "must be (B, Q, Z)");
  EXPECT_PRED2(contains, message(x, {}, torch::zeros({2, 6}), plain), "must be boolean");
  EXPECT_PRED2(contains, message(x, {}, torch::zeros({2, 5}, torch::kBool), plain), "(2, 6)");
  EXPECT_PRED2(contains, message(x, {}, {}, zero), "-1 for full attention");
  EXPECT_PRED2(contains, message(torch::randn({2, 5, 4}), {}, {}, chunked), "as many queries as keys");
  EXPECT_PRED2(contains, message(x, {torch::zeros({10}), -5}, {}, plain), "needs -5 to 5");
  AttentionSettings three, tupe;
  three.heads = 3;
  EXPECT_PRED2(contains, message(x, {}, {}, three), "multiples of the number of heads, 3");
  tupe.heads = 2;
  EXPECT_PRED2(contains, message(x, {torch::zeros({3, 11}), -5}, {}, tupe), "or (2, offsets)");
  tupe.content = 1;
  EXPECT_PRED2(contains, message(x, {}, {}, tupe), "need a single head");
  const FormGuard guard(Form::fused);
  const Tensor wide = x.to(torch::kFloat64);
  EXPECT_PRED2(contains, error_of([&] { attention(wide, wide, wide, {}, {}, {}); }), "float32 on the CPU");
}

}  // namespace
}  // namespace mega::ops
