#include "mega/distributed/gradient_sum.h"

#include <gtest/gtest.h>

#include "tests/distributed/worlds.h"

namespace mega::distributed {
namespace {

using torch::Tensor;

struct Net {
  std::vector<Tensor> parameters;
  // The fourth is never used, the third by rank 1 alone.
  Net() {
    for (const int64_t size : {7, 300, 5, 4})
      parameters.push_back(torch::linspace(0.1, 1.0, size, torch::kFloat64).requires_grad_());
  }
  Tensor loss(int rank) const {
    Tensor sum = (parameters[0].sum() * parameters[1]).square().sum() * (rank + 1);
    if (rank == 1) sum = sum + parameters[2].exp().sum();
    return sum;
  }
};

TEST(GradientSum, EqualsTheSumOfAll) {
  Net whole;
  for (int rank = 0; rank < 3; ++rank) {
    whole.loss(rank).backward();
    whole.loss(rank).backward();
  }
  for (const bool overlap : {true, false}) {
    for (const int64_t bucket : {1, 2000, 1'000'000}) {
      expect_none(in_worlds(3, [&](World& world) {
        Net net;
        GradientSumOptions options;
        options.bucket_bytes = bucket;
        options.overlap = overlap;
        GradientSum sum(net.parameters, world.gradients(), options);
        for (int update = 0; update < 3; ++update) {
          for (Tensor& parameter : net.parameters) parameter.mutable_grad() = Tensor();
          net.loss(world.rank()).backward();  // accumulated: nothing is sent yet
          sum.begin();
          net.loss(world.rank()).backward();
          sum.finish();
          for (size_t i = 0; i < 3; ++i)
            EXPECT_TRUE(torch::allclose(net.parameters[i].grad(), whole.parameters[i].grad(), 1e-12))
                << i << " in rank " << world.rank();
          EXPECT_FALSE(net.parameters[3].grad().defined());
        }
        world.finish();
      }));
    }
  }
}

// With shares, every process gets the sums of what it owns, and nobody keeps the rest.
TEST(GradientSum, OwnPartsOfTheSumOfAll) {
  Net whole;
  for (int rank = 0; rank < 3; ++rank) whole.loss(rank).backward();
  for (const bool overlap : {true, false}) {
    for (const int64_t bucket : {1, 2000, 1'000'000}) {
      expect_none(in_worlds(3, [&](World& world) {
        Net net;
        GradientSumOptions options;
        options.bucket_bytes = bucket;
        options.overlap = overlap;
        const ParameterShares shares(net.parameters, world.common(), bucket);
        GradientSum sum(net.parameters, world.gradients(), options, &shares);
        for (int update = 0; update < 3; ++update) {
          sum.begin();
          net.loss(world.rank()).backward();
          sum.finish();
          for (size_t i = 0; i < net.parameters.size(); ++i) {
            EXPECT_FALSE(net.parameters[i].grad().defined());
            EXPECT_EQ(sum.own().found[i], i < 2 || (i == 2 && world.rank() == 1)) << i;
            const Piece own = shares.own(i);
            const Tensor expected =
                i < 3 ? whole.parameters[i].grad() : torch::zeros_like(whole.parameters[i].detach());
            EXPECT_TRUE(torch::allclose(sum.own().sums[i], expected.slice(0, own.begin, own.end), 1e-12))
                << i << " in rank " << world.rank();
          }
        }
        world.finish();
      }));
    }
  }
}

TEST(GradientSum, ALossOfTheRunIsThrown) {
  const auto errors = in_worlds(2, [&](World& world) {
    if (world.rank() == 1) return;
    Net net;
    GradientSum sum(net.parameters, world.gradients(), {});
    sum.begin();
    net.loss(0).backward();
    sum.finish();
  });
  EXPECT_NE(errors[0].find("rank 1 ("), std::string::npos) << errors[0];
}

}  // namespace
}  // namespace mega::distributed
