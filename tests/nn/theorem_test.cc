// Theorem 1: for each X there is a gate for which single-head gated attention equals multi-head attention.
//
// The gated attention is a real layer. Its reset gate is G(X) = silu(W X' + b); the theorem requires gamma =
// O_MHA / O_SHA element-wise. We solve W X' = silu^-1(gamma) for W, which is possible if there are no more
// positions than channels. The rest of the layer passes the gated attention through: the update gate is open,
// h_proj is the identity, the candidate adds nothing, and activations are the identity. Values are positive,
// so that nothing is divided by zero and gamma is in silu's range.
#include <gtest/gtest.h>

#include "mega/nn/gated_attention.h"
#include "tests/nn/helpers.h"

namespace mega::nn {
namespace {

using namespace mega::testing;
using torch::Tensor;

constexpr int64_t kLength = 7, kWidth = 12, kHeads = 3;

// From section 3.4, head by head; q, k, v (L, D).
Tensor multi_head_attention(const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads) {
  Tensors outputs;
  const int64_t width = q.size(1) / heads;
  for (int64_t h = 0; h < heads; ++h) {
    const auto head = [&](const Tensor& x) { return x.narrow(1, h * width, width); };
    const Tensor scores = torch::mm(head(q), head(k).t()) / std::sqrt(static_cast<double>(width));
    const Tensor weights = torch::exp(scores) / torch::exp(scores).sum(1, true);
    outputs.push_back(torch::mm(weights, head(v)));
  }
  return torch::cat(outputs, 1);
}

// x with x sigmoid(x) = y, for y > 0, by Newton's method from above.
Tensor inverse_silu(const Tensor& y) {
  Tensor x = y + 1;
  for (int i = 0; i < 100; ++i) {
    const Tensor s = torch::sigmoid(x);
    x = x - (x * s - y) / (s * (1 + x * (1 - s)));
  }
  return x;
}

TEST(Theorem, GatedAttentionEqualsMultiHeadAttention) {
  const torch::NoGradGuard guard;
  torch::manual_seed(1);
  BlockOptions options;
  options.width = options.values = options.shared = kWidth;
  options.ema.dimension = 4;
  options.position = PositionKind::none;
  options.activation = Activation::identity;
  options.prenorm = true;
  GatedAttention layer(options);
  layer->to(torch::kFloat64);
  scramble(*layer, 0.5);
  layer->gamma.mul_(3);  // far from uniform attention
  layer->v_proj->bias.fill_(6);
  layer->h_proj->weight.copy_(torch::eye(kWidth));
  layer->h_proj->bias.zero_();
  // The parts of mx_proj in the released order; views, which do not follow a change of dtype.
  enum Part { update, shared, reset, candidate };
  const auto weight = [&](Part part) { return layer->mx_proj->weight.narrow(0, part * kWidth, kWidth); };
  const auto bias = [&](Part part) { return layer->mx_proj->bias.narrow(0, part * kWidth, kWidth); };
  for (const Part part : {update, reset, candidate}) {
    weight(part).zero_();
    bias(part).fill_(part == update ? 50 : 0);
  }

  for (int repeat = 0; repeat < 3; ++repeat) {
    const Tensor x = torch::randn({1, kLength, kWidth}, torch::kFloat64);
    const Tensor input = layer->norm->forward(x), averaged = layer->move->forward(input)[0];
    const Tensor z = torch::silu(torch::linear(averaged, weight(shared), bias(shared)));
    const Tensor q = z * layer->gamma[0] + layer->beta[0], k = z * layer->gamma[1] + layer->beta[1];
    const Tensor v = layer->v_proj->forward(input)[0];
    ASSERT_GT(v.min().item<double>(), 0);
    const Tensor single = multi_head_attention(q, k, v, 1), multi = multi_head_attention(q, k, v, kHeads);
    EXPECT_GT(distance(single, multi), 0.02);  // otherwise the test would show nothing

    const Tensor wanted = inverse_silu(multi / single);                     // (L, V)
    weight(reset).copy_(torch::mm(torch::pinverse(averaged), wanted).t());  // averaged W^T = wanted
    {
      const ops::FormGuard form(ops::Form::reference);
      expect_close(layer->forward(x)[0], multi, 1e-9, "in double");
    }
    layer->to(torch::kFloat32);
    {
      const ops::FormGuard form(ops::Form::fused);
      expect_close(layer->forward(x.to(torch::kFloat32))[0], multi, 1e-4, "fused");
    }
    layer->to(torch::kFloat64);
  }
}

}  // namespace
}  // namespace mega::nn
