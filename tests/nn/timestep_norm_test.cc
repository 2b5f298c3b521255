// Megalodon's timestep norm against its running sums: groups, padding, streams, gradients.
#include "mega/nn/timestep_norm.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"
#include "tests/gradcheck.h"

namespace mega::nn {
namespace {

using testing::contains;
using testing::error_of;
using torch::Tensor;

double distance(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

// The statistics of all positions up to t, computed afresh at every t.
Tensor afresh(const Tensor& x, const Tensor& mask, int64_t groups) {
  const int64_t batch = x.size(0), length = x.size(1);
  const Tensor grouped = x.view({batch, length, groups, -1});
  Tensor y = torch::zeros_like(grouped);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t t = 0; t < length; ++t) {
      if (mask[b][t].item<bool>()) continue;
      std::vector<Tensor> seen;
      for (int64_t s = 0; s <= t; ++s)
        if (!mask[b][s].item<bool>()) seen.push_back(grouped[b][s]);
      const Tensor all = torch::stack(seen).transpose(0, 1).flatten(1);  // (G, positions * channels)
      const Tensor scale = torch::rsqrt((all - all.mean(1, /*keepdim=*/true)).square().mean(1) + 1e-5);
      y[b][t] = (grouped[b][t] - all.mean(1).unsqueeze(1)) * scale.unsqueeze(1);
    }
  return y.view_as(x);
}

TEST(TimestepNorm, NormalisesByAllPositionsSoFar) {
  torch::manual_seed(1);
  const Tensor x = torch::randn({2, 17, 12}, torch::kFloat64) * 3 + 5, mask = torch::rand({2, 17}) < 0.3;
  for (const int64_t groups : {1, 3, 6}) {
    TimestepNorm norm(12, groups, false);
    EXPECT_LT(distance(norm->forward(x, mask), afresh(x, mask, groups)), 1e-9) << groups;
  }
}

TEST(TimestepNorm, AnyCutGivesTheSame) {
  torch::manual_seed(2);
  TimestepNorm norm(12, 4);
  const torch::NoGradGuard no_grad;
  norm->weight.normal_(0.0, 0.3);
  const Tensor x = torch::randn({2, 50, 12}) + 2, mask = torch::rand({2, 50}) < 0.2,
               whole = norm->forward(x, mask);
  for (const int64_t size : {1, 7, 49}) {
    Tensor state;
    std::vector<Tensor> pieces;
    for (int64_t at = 0; at < 50; at += size) {
      const int64_t length = std::min(size, 50 - at);
      pieces.push_back(norm->forward(x.narrow(1, at, length), mask.narrow(1, at, length), &state));
    }
    EXPECT_LT(distance(torch::cat(pieces, 1), whole), 1e-5) << size;
  }
}

TEST(TimestepNorm, IsCausal) {
  TimestepNorm norm(8, 2);
  const Tensor x = torch::randn({1, 20, 8});
  Tensor changed = x.clone();
  changed.narrow(1, 10, 10).add_(3.0);
  EXPECT_EQ(distance(norm->forward(x).narrow(1, 0, 10), norm->forward(changed).narrow(1, 0, 10)), 0.0);
}

TEST(TimestepNorm, Gradients) {
  torch::manual_seed(3);
  TimestepNorm norm(6, 2, true, 2);
  norm->to(torch::kFloat64);
  std::vector<Tensor> inputs = norm->parameters();
  inputs.push_back(torch::randn({2, 5, 6}, torch::kFloat64).requires_grad_());
  const Tensor mask = torch::rand({2, 5}) < 0.3;
  check_gradients(
      [&] {
        Tensor state;
        const Tensor first = norm->forward(inputs.back().narrow(1, 0, 3), mask.narrow(1, 0, 3), &state);
        const Tensor second = norm->forward(inputs.back().narrow(1, 3, 2), mask.narrow(1, 3, 2), &state);
        return std::vector<Tensor>{first, second, state};
      },
      inputs);
}

TEST(TimestepNorm, RefusesWhatDoesNotFit) {
  EXPECT_PRED2(contains, error_of([] { TimestepNorm(10, 3); }), "does not divide");
  TimestepNorm norm(6, 2);
  Tensor state = torch::zeros({2, 4});
  EXPECT_PRED2(contains, error_of([&] {
                 norm->forward(torch::zeros({2, 3, 6}), {}, &state);
               }),
               "must be (2, 5)");
}

}  // namespace
}  // namespace mega::nn
