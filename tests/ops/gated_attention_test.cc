// The fused gated attention unit against equations 6 to 15 in plain libtorch.
#include "mega/ops/gated_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "mega/ops/activation.h"
#include "tests/compare.h"
#include "tests/gradcheck.h"

namespace mega::ops {
namespace {

using mega::testing::Evaluation;
using mega::testing::Tensors;
using torch::Tensor;

struct Case {
  int64_t batch, length, width, shared, values;
  GatedAttentionSettings settings;
  bool masked = false, biased = false;
  Tensor path = {};

  int64_t reach() const {
    const int64_t chunk = settings.attention.chunk;
    return chunk > 0 ? std::min(chunk, length) : length;
  }
  Tensors inputs() const {
    const int64_t mixed = 2 * width + shared + values;
    return {torch::randn({batch, length, width}),
            torch::randn({batch, length, width}),
            torch::randn({batch, length, width}),
            torch::randn({mixed, width}) / std::sqrt(static_cast<double>(width)),
            torch::randn({mixed}),
            torch::randn({2, shared}),
            torch::randn({2, shared}),
            torch::randn({width, values}) / std::sqrt(static_cast<double>(values)),
            torch::randn({width}),
            biased ? torch::randn({settings.attention.causal ? reach() : 2 * reach() - 1}) : Tensor(),
            torch::randn({values, width}) / std::sqrt(static_cast<double>(width)),
            torch::randn({values})};
  }
  friend std::ostream& operator<<(std::ostream& stream, const Case& c) {
    return stream << to_string(c.settings.attention.function) << " " << to_string(c.settings.activation)
                  << (c.settings.attention.causal ? " causal" : "") << (c.masked ? " masked" : "")
                  << (c.biased ? " biased" : "") << " chunk=" << c.settings.attention.chunk
                  << " B=" << c.batch << " L=" << c.length << " D=" << c.width << " Z=" << c.shared
                  << " V=" << c.values;
  }
};

// In the dtype of the inputs.
Tensor definition(const Case& c, const Tensors& in, const Tensor& mask) {
  const FormGuard guard(Form::reference);
  const Tensor averaged = dropout(activate(in[1], c.settings.average), c.settings.averaged);  // 6
  const auto parts =
      torch::linear(averaged, in[3], in[4]).split_with_sizes({c.width, c.shared, c.values, c.width}, -1);
  const auto act = [&](const Tensor& x) { return activate(x, c.settings.activation); };
  const Tensor z = parts[1] * torch::sigmoid(parts[1]);                                     // 7
  const Tensor q = z * in[5][0] + in[6][0], k = z * in[5][1] + in[6][1];                    // 8, 9
  const Tensor v = dropout(act(torch::linear(in[2], in[10], in[11])), c.settings.values);   // 10
  const Tensor h = attention(q, k, v, {in[9], 1 - c.reach()}, mask, c.settings.attention);  // 11
  const Tensor reset = parts[2] * torch::sigmoid(parts[2]);                                 // 12
  const Tensor update = torch::sigmoid(parts[0]);                                           // 13
  Tensor candidate =
      dropout(act(parts[3] + torch::linear(h * reset, in[7], in[8])), c.settings.candidate);  // 14
  if (c.path.defined()) candidate = candidate * c.path.view({-1, 1, 1});
  return update * candidate + (1 - update) * in[0];  // 15
}

void check(const Case& c) {
  SCOPED_TRACE(::testing::Message() << c);
  const Tensor mask = c.masked ? torch::rand({c.batch, c.length}) < 0.3 : Tensor();
  const auto operation = [&](const Tensors& in) {
    if (in[0].scalar_type() == torch::kFloat64) return definition(c, in, mask);
    return gated_attention(
        {in[0], in[2], in[1], in[10], in[11], in[3], in[4], in[5], in[6], in[7], in[8], c.path},
        {in[9], 1 - c.reach()}, mask, c.settings);
  };
  mega::testing::compare_forms(operation, c.inputs(), 0.1);
}

TEST(GatedAttentionOp, MatchesTheEquations) {
  torch::manual_seed(1);
  std::mt19937 random(1);
  const auto pick = [&](std::initializer_list<int64_t> list) { return list.begin()[random() % list.size()]; };
  for (const auto function :
       {AttentionFunction::softmax, AttentionFunction::relu2, AttentionFunction::laplace}) {
    for (int bits = 0; bits < 16; ++bits) {
      for (const int64_t length :
           {int64_t{1}, pick({2, 3, 4, 5}), pick({12, 13, 40}), pick({65, 130, 200})}) {
        Case c{pick({1, 2, 3}), length, pick({1, 6, 16, 27}), pick({2, 8, 13}), pick({1, 12, 35}), {}};
        c.settings.attention.function = function;
        c.settings.attention.causal = bits & 1;
        c.settings.attention.chunk = pick({-1, 4, 64});
        c.settings.activation = bits & 2 ? Activation::silu : Activation::gelu;
        c.masked = bits & 4;
        c.biased = pick({0, 1});
        c.settings.average = pick({0, 1}) ? Activation::silu : Activation::identity;
        if (bits & 8) {
          c.settings.averaged = {0.2f, 4};
          c.settings.values = {0.2f, 1};
          c.settings.attention.dropout = {0.1f, 2};
          c.settings.candidate = {0.3f, 3};
        }
        check(c);
      }
    }
  }
}

// Small weights: blocks of rows on each thread. Large ones: all rows at once.
TEST(GatedAttentionOp, BlocksOfRowsMakeNoDifference) {
  torch::manual_seed(3);
  for (const int64_t width : {16, 260}) {
    Case c{2, 1300, width, 8, width, {}};
    c.settings.attention.chunk = 64;
    c.settings.averaged = {0.2f, 4};
    c.settings.values = {0.2f, 1};
    c.settings.candidate = {0.3f, 3};
    c.masked = c.biased = true;
    c.path = torch::tensor({0.0f, 1.5f});
    check(c);
  }
}

TEST(GatedAttentionOp, GradientsOfTheEquations) {
  torch::manual_seed(2);
  Case c{2, 5, 3, 2, 4, {}};
  c.settings.attention.chunk = 2;
  c.settings.values = {0.2f, 1};
  c.settings.candidate = {0.3f, 3};
  c.biased = true;
  Tensors in = mega::testing::to(c.inputs(), torch::kFloat64);
  for (Tensor& x : in) x.requires_grad_();
  check_gradients([&] { return Tensors{definition(c, in, {})}; }, in);
}

}  // namespace
}  // namespace mega::ops
