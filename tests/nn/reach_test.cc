// The receptive field of a Mega-chunk block (the paper's metric of two chunks of length 3): attention stays
// inside its chunk, and the EMA before it carries context across the boundary.
#include <gtest/gtest.h>

#include "mega/nn/gated_attention.h"
#include "tests/nn/helpers.h"

namespace mega::nn {
namespace {

using namespace mega::testing;
using torch::Tensor;

constexpr int64_t kLength = 9, kChunk = 3;

// reach[t][s]: whether y_t depends on x_s. Without an EMA the gradient outside is exactly 0; an EMA by FFT,
// or truncated by subtraction, leaves rounding noise where its kernel is 0.
Tensor reach_of(const BlockOptions& options) {
  torch::manual_seed(1);
  GatedAttention layer(options);
  scramble(*layer);
  const Tensor x = torch::randn({1, kLength, options.width}).requires_grad_();
  const Tensor y = layer->forward(x), direction = torch::randn({options.width});
  Tensors rows;
  for (int64_t t = 0; t < kLength; ++t) {
    const Tensor gradient = torch::autograd::grad({(y[0][t] * direction).sum()}, {x}, {}, true)[0];
    const Tensor size = gradient[0].abs().amax(1);
    rows.push_back(size > (options.ema.dimension == 0 ? torch::zeros({}) : 1e-5 * size.max()));
  }
  return torch::stack(rows);
}

Tensor expected(const std::function<bool(int64_t, int64_t)>& depends) {
  Tensor table = torch::zeros({kLength, kLength}, torch::kBool);
  for (int64_t t = 0; t < kLength; ++t)
    for (int64_t s = 0; s < kLength; ++s) table[t][s] = depends(t, s);
  return table;
}

class Reach : public ::testing::TestWithParam<ops::Form> {
 protected:
  Reach() : guard_(GetParam()) { both.chunk = causal.chunk = kChunk; }
  BlockOptions both = small_block(), causal = small_causal_block();

 private:
  ops::FormGuard guard_;
};

bool same_chunk(int64_t t, int64_t s) { return t / kChunk == s / kChunk; }

TEST_P(Reach, WithTheEmaAcrossChunks) {
  EXPECT_TRUE(reach_of(both).all().item<bool>());
  EXPECT_TRUE(reach_of(causal).equal(expected([](int64_t t, int64_t s) { return s <= t; })));
}

TEST_P(Reach, WithoutTheEmaInsideTheChunk) {
  both.ema.dimension = causal.ema.dimension = 0;
  EXPECT_TRUE(reach_of(both).equal(expected(same_chunk)));
  EXPECT_TRUE(
      reach_of(causal).equal(expected([](int64_t t, int64_t s) { return s <= t && same_chunk(t, s); })));
}

// A kernel of two lags sees one position before the chunk.
TEST_P(Reach, AsFarAsTheKernel) {
  causal.ema.truncation = 2;
  EXPECT_TRUE(reach_of(causal).equal(
      expected([](int64_t t, int64_t s) { return s <= t && s >= t / kChunk * kChunk - 1; })));
}

INSTANTIATE_TEST_SUITE_P(Forms, Reach, ::testing::Values(ops::Form::reference, ops::Form::fused),
                         [](const auto& form) {
                           return form.param == ops::Form::fused ? "Fused" : "Reference";
                         });

}  // namespace
}  // namespace mega::nn
