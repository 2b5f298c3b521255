// The linear map and the matrix product that it uses.
#include "mega/ops/linear.h"

#include <gtest/gtest.h>

#include "mega/base/error.h"
#include "mega/ops/matmul.h"
#include "mega/ops/precision.h"
#include "tests/base/helpers.h"
#include "tests/compare.h"
#include "tests/gradcheck.h"

namespace mega::ops {
namespace {

using mega::testing::compare_forms;
using mega::testing::Tensors;
using torch::Tensor;

TEST(Linear, FormsAgree) {
  torch::manual_seed(1);
  const auto biased = [](const Tensors& in) { return ops::linear(in[0], in[1], in[2]); };
  for (const auto& [rows, in, out] : {std::tuple{1, 1, 1}, std::tuple{2, 5, 3}, std::tuple{37, 17, 65},
                                      std::tuple{300, 33, 70}, std::tuple{1, 100, 31}}) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << in << " -> " << out);
    const Tensor weight = torch::randn({out, in}), bias = torch::randn({out});
    compare_forms(biased, {torch::randn({rows, in}), weight, bias});
    compare_forms(biased, {torch::randn({2, rows, in}), weight, bias});
    compare_forms(biased, {torch::randn({2, 3, rows, in}), weight, Tensor()});
    // Layouts that modules pass: transposed, and a slice of a wider tensor.
    compare_forms([&](const Tensors& x) { return ops::linear(x[0].transpose(0, 1), x[1], x[2]); },
                  {torch::randn({rows, 2, in}), weight, bias});
    compare_forms(
        [&, n = int64_t{in}](const Tensors& x) { return ops::linear(x[0].narrow(-1, 1, n), x[1], x[2]); },
        {torch::randn({2, rows, in + 2}), weight, bias});
  }
}

TEST(Linear, OfAnActivatedInput) {
  torch::manual_seed(3);
  for (const Activation activation : {Activation::identity, Activation::silu, Activation::gelu}) {
    for (const float rate : {0.0f, 0.3f}) {
      SCOPED_TRACE(::testing::Message() << to_string(activation) << ", dropout " << rate);
      compare_forms(
          [&](const Tensors& in) {
            return ops::activated_linear(in[0], activation, {rate, 5}, in[1], in[2]);
          },
          {torch::randn({2, 19, 33}), torch::randn({7, 33}), torch::randn({7})});
    }
  }
}

TEST(Linear, GradientsOfTheReference) {
  Tensors in =
      mega::testing::to({torch::randn({2, 3, 4}), torch::randn({5, 4}), torch::randn({5})}, torch::kFloat64);
  for (Tensor& x : in) x.requires_grad_();
  check_gradients([&] { return Tensors{ops::linear(in[0], in[1], in[2])}; }, in);
}

// Only the requested gradients are computed.
TEST(Linear, FrozenWeight) {
  const FormGuard guard(Form::fused);
  const Tensor x = torch::randn({3, 4}).requires_grad_(), weight = torch::randn({5, 4}),
               bias = torch::randn({5});
  ops::linear(x, weight, bias).sum().backward();
  EXPECT_TRUE(torch::allclose(x.grad(), weight.sum(0).expand({3, 4})));
  EXPECT_FALSE(weight.grad().defined());
}

TEST(Linear, RejectsOtherWidths) {
  EXPECT_THROW(ops::linear(torch::randn({2, 3}), torch::randn({5, 4}), Tensor()), Error);
}

TEST(Matmul, TransposesAndAdds) {
  torch::manual_seed(2);
  for (const auto& [rows, columns, depth] : {std::tuple{1, 1, 1}, std::tuple{3, 5, 7}, std::tuple{65, 33, 17},
                                             std::tuple{7, 130, 200}, std::tuple{4, 6, 0}}) {
    for (const bool narrow : {false, true}) {
      if (narrow && available_precision(Precision::bf16) != Precision::bf16) continue;
      const Tensor a = stored(torch::randn({rows, depth}), narrow),
                   b = stored(torch::randn({depth, columns}), narrow);
      const Tensor at = a.t().contiguous(), bt = b.t().contiguous(), bias = torch::randn({columns});
      for (int bits = 0; bits < 16; ++bits) {
        const bool left = bits & 1, right = bits & 2, accumulate = bits & 4, biased = (bits & 8) && depth > 0;
        const Tensor out = torch::ones({rows, columns + 2});  // row stride larger than the width
        matmul({left ? at : a, left}, {right ? bt : b, right}, out.narrow(1, 0, columns),
               {accumulate, biased ? bias.data_ptr<float>() : nullptr});
        Tensor expected = torch::mm(a.to(torch::kFloat64), b.to(torch::kFloat64)) + (accumulate ? 1.0 : 0.0);
        if (biased) expected = expected + bias;
        mega::testing::expect_close(out.narrow(1, 0, columns), expected, 1e-5, "product", 1);
        EXPECT_TRUE(out.narrow(1, columns, 2).eq(1).all().item<bool>());
        if (!narrow) continue;
        const Tensor rounded = torch::ones({rows, columns + 2}, torch::kBFloat16);
        matmul({left ? at : a, left}, {right ? bt : b, right}, rounded.narrow(1, 0, columns),
               {accumulate, biased ? bias.data_ptr<float>() : nullptr});
        mega::testing::expect_close(rounded.narrow(1, 0, columns), expected, 1.0 / 256, "rounded", 1);
      }
    }
  }
}

}  // namespace
}  // namespace mega::ops
