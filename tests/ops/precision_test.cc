// Products in bf16 against float32: values by the rounding of 8 significant bits, gradients by their
// direction.
#include "mega/ops/precision.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mega/kernels/instruction_set.h"
#include "mega/ops/attention.h"
#include "mega/ops/ema.h"
#include "mega/ops/feed_forward.h"
#include "mega/ops/gated_attention.h"
#include "mega/ops/linear.h"
#include "tests/compare.h"

namespace mega::ops {
namespace {

using mega::testing::evaluate;
using mega::testing::Evaluation;
using mega::testing::Operation;
using mega::testing::Tensors;
using torch::Tensor;

#define MEGA_NEEDS_BF16()                                        \
  if (available_precision(Precision::bf16) != Precision::bf16) { \
    GTEST_SKIP() << "this CPU has no bf16 arithmetic";           \
  }

double cosine(const Tensor& a, const Tensor& b) {
  const Tensor x = a.flatten().to(torch::kFloat64), y = b.flatten().to(torch::kFloat64);
  return (x.dot(y) / (x.norm() * y.norm())).item<double>();
}

// A factor is off by at most 2^-9 of itself, a product by 2^-8; sums of random products average that out, and
// chains of three products and roundings of what is kept add up. Relative to the norm.
void compare(const Operation& operation, const Tensors& inputs) {
  constexpr double kRounding = 1.0 / 256, kDirection = 0.999;
  const Tensor cotangent = torch::randn_like(operation(inputs));
  const Evaluation wide = evaluate(operation, inputs, cotangent);
  const PrecisionGuard guard(Precision::bf16);
  const Evaluation narrow = evaluate(operation, inputs, cotangent);
  EXPECT_EQ(narrow.value.scalar_type(), torch::kFloat32);
  EXPECT_LT(((narrow.value - wide.value).norm() / wide.value.norm()).item<double>(), 2 * kRounding);
  EXPECT_GT((narrow.value - wide.value).abs().max().item<double>(), 0.0) << "nothing was rounded";
  // Of all inputs together: single tensors may be small differences of large numbers.
  Tensors all_narrow, all_wide;
  for (size_t i = 0; i < wide.gradients.size(); ++i) {
    EXPECT_EQ(narrow.gradients[i].scalar_type(), torch::kFloat32);
    EXPECT_TRUE(torch::isfinite(narrow.gradients[i]).all().item<bool>());
    all_narrow.push_back(narrow.gradients[i].flatten());
    all_wide.push_back(wide.gradients[i].flatten());
  }
  EXPECT_GT(cosine(torch::cat(all_narrow), torch::cat(all_wide)), kDirection);
}

Tensor weight(int64_t rows, int64_t columns) {
  return torch::randn({rows, columns}) / std::sqrt(static_cast<double>(columns));
}

TEST(Precision, LinearMaps) {
  MEGA_NEEDS_BF16();
  torch::manual_seed(1);
  for (const int64_t width : {1, 7, 30, 64, 129})
    for (const int64_t rows : {1, 50, 300})
      compare([](const Tensors& in) { return linear(in[0], in[1], in[2]); },
              {torch::randn({2, rows, width}), weight(40, width), torch::randn({40})});
  compare(
      [](const Tensors& in) {
        return activated_linear(in[0], Activation::silu, {0.2f, 3}, in[1], {});
      },
      {torch::randn({3, 70, 48}), weight(31, 48)});
}

TEST(Precision, FeedForward) {
  MEGA_NEEDS_BF16();
  torch::manual_seed(2);
  for (const int64_t length : {90, 1100})  // one block, several
    compare(
        [](const Tensors& in) {
          return feed_forward(in[0], in[1], in[2], Activation::gelu, {0.1f, 5}, in[3], in[4]);
        },
        {torch::randn({2, length, 60}), weight(120, 60), torch::randn({120}), weight(60, 120),
         torch::randn({60})});
}

TEST(Precision, Attention) {
  MEGA_NEEDS_BF16();
  torch::manual_seed(3);
  for (const auto function :
       {AttentionFunction::softmax, AttentionFunction::relu2, AttentionFunction::laplace}) {
    for (const bool causal : {false, true}) {
      for (const int64_t chunk : {-1, 33}) {
        SCOPED_TRACE(::testing::Message() << to_string(function) << ", chunk " << chunk);
        AttentionSettings settings;
        settings.function = function;
        settings.causal = causal;
        settings.chunk = chunk;
        settings.heads = 2;
        settings.dropout = {0.1f, 7};
        compare(
            [&](const Tensors& in) {
              return attention(in[0], in[1], in[2], {in[3], -199}, {}, settings);
            },
            {torch::randn({2, 200, 30}), torch::randn({2, 200, 30}), torch::randn({2, 200, 42}),
             torch::randn({399})});
      }
    }
  }
}

TEST(Precision, GatedAttention) {
  MEGA_NEEDS_BF16();
  torch::manual_seed(4);
  const int64_t d = 60, z = 30, v = 90, mixed = 2 * d + z + v;
  for (const auto function :
       {AttentionFunction::softmax, AttentionFunction::relu2, AttentionFunction::laplace}) {
    for (const bool one : {false, true}) {  // residual and input
      const int64_t length = function == AttentionFunction::softmax ? 1100 : 130;
      SCOPED_TRACE(::testing::Message() << to_string(function) << ", one input " << one);
      GatedAttentionSettings settings;
      settings.attention.function = function;
      settings.attention.chunk = 50;
      settings.averaged = {0.1f, 1};
      settings.candidate = {0.1f, 2};
      compare(
          [&](const Tensors& in) {
            return gated_attention(
                {in[0], one ? in[0] : in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8], in[9], in[10]},
                {in[11], -49}, {}, settings);
          },
          {torch::randn({2, length, d}), torch::randn({2, length, d}), torch::randn({2, length, d}),
           weight(v, d), torch::randn({v}), weight(mixed, d), torch::randn({mixed}), torch::randn({2, z}),
           torch::randn({2, z}), weight(d, v), torch::randn({d}), torch::randn({99})});
    }
  }
}

// What it computes stays float32; rounded are only the gradients of its coefficients, by its kept input.
TEST(Precision, MovingAverageKeepsItsInputRounded) {
  MEGA_NEEDS_BF16();
  torch::manual_seed(5);
  const int64_t d = 20, n = 4;
  for (const bool bidirectional : {false, true}) {
    EmaSettings settings;
    settings.bidirectional = bidirectional;
    settings.rounded = true;
    const Operation average = [&](const Tensors& in) {
      return ema(in[0], {torch::sigmoid(in[1]), in[2], in[3]}, in[4], {}, settings);
    };
    const int64_t rows = bidirectional ? 2 * d : d;
    const Tensors inputs = {torch::randn({3, 200, d}), torch::randn({rows, n}), torch::randn({rows, n}),
                            torch::randn({rows, n}), torch::randn({d})};
    const Tensor cotangent = torch::randn_like(inputs[0]);
    const Evaluation wide = evaluate(average, inputs, cotangent);
    const PrecisionGuard guard(Precision::bf16);
    const Evaluation narrow = evaluate(average, inputs, cotangent);
    EXPECT_TRUE(torch::equal(narrow.value, wide.value));
    EXPECT_TRUE(torch::equal(narrow.gradients[0], wide.gradients[0]));
    for (size_t i = 1; i < inputs.size(); ++i) {
      EXPECT_GT(cosine(narrow.gradients[i], wide.gradients[i]), 0.999);
      EXPECT_FALSE(torch::equal(narrow.gradients[i], wide.gradients[i])) << "nothing was rounded";
    }
  }
}

// Below AVX512-BF16, bf16 is float32, bit for bit.
TEST(Precision, WithoutTheInstructionsItIsFloat32) {
  torch::manual_seed(5);
  const Tensor x = torch::randn({40, 33}), w = weight(20, 33);
  const auto strongest = kernels::usable_instruction_sets().back();
  kernels::limit_instruction_set(kernels::InstructionSet::avx2);
  EXPECT_EQ(available_precision(Precision::bf16), Precision::f32);
  EXPECT_EQ(available_precision(Precision::automatic), Precision::f32);
  const Tensor wide = ops::linear(x, w, {});
  {
    const PrecisionGuard guard(Precision::bf16);
    EXPECT_FALSE(use_bf16());
    EXPECT_TRUE(torch::equal(ops::linear(x, w, {}), wide));
  }
  kernels::limit_instruction_set(strongest);
}

TEST(Precision, GuardsNest) {
  MEGA_NEEDS_BF16();
  EXPECT_FALSE(use_bf16());
  {
    const PrecisionGuard narrow(Precision::automatic);
    EXPECT_TRUE(use_bf16());
    {
      const PrecisionGuard wide(Precision::f32);
      EXPECT_FALSE(use_bf16());
    }
    EXPECT_TRUE(use_bf16());
  }
  EXPECT_FALSE(use_bf16());
}

// The rounded copy of a parameter follows every change in place, is shared until then, and is nobody else's
// after the parameter was freed.
TEST(Precision, RoundedParametersAreNeverStale) {
  Tensor w = torch::randn({30, 20});
  const auto fresh = [](const Tensor& x) { return x.to(torch::kBFloat16); };
  const Tensor first = stored_once(w, true);
  EXPECT_TRUE(torch::equal(first, fresh(w)));
  EXPECT_EQ(stored_once(w, true).data_ptr(), first.data_ptr());
  EXPECT_EQ(stored_once(w.view({20, 30}), true).sizes(), (c10::IntArrayRef{20, 30}));
  w.mul_(3.0);
  EXPECT_TRUE(torch::equal(stored_once(w, true), fresh(w)));
  w.detach().narrow(0, 3, 1).fill_(7.0);
  EXPECT_TRUE(torch::equal(stored_once(w, true), fresh(w)));
  for (int i = 0; i < 100; ++i) {  // the allocator gives the same memory again
    Tensor other = torch::full({30, 20}, static_cast<double>(i));
    EXPECT_TRUE(torch::equal(stored_once(other, true), fresh(other)));
  }
}

// When another tensor is rounded, or a guard ends.
TEST(Precision, RoundedCopiesGoWithWhatTheyWereMadeOf) {
  MEGA_NEEDS_BF16();
  Tensor copy;
  const auto is_kept = [&] { return copy.use_count() > 1; };
  copy = stored_once(torch::randn({30, 20}), true);
  EXPECT_TRUE(is_kept());
  const Tensor other = torch::randn({30, 20});
  stored_once(other, true);
  EXPECT_FALSE(is_kept());
  {
    const PrecisionGuard guard(Precision::bf16);
    copy = stored_once(torch::randn({30, 20}), true);
    EXPECT_TRUE(is_kept());
  }
  EXPECT_FALSE(is_kept());
}

}  // namespace
}  // namespace mega::ops
