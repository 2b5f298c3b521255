#include "mega/nn/drop_path.h"

#include <gtest/gtest.h>

#include "mega/nn/mega_block.h"
#include "mega/nn/stack.h"
#include "tests/nn/helpers.h"

namespace mega::nn {
namespace {

using testing::small_block;
using torch::Tensor;

double distance(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST(DropPath, FactorsAreZeroOrMakeUpForIt) {
  torch::manual_seed(1);
  DropPath path(0.25);
  const Tensor factors = path->draw(torch::zeros({4000, 2}));
  const Tensor kept = factors > 0;
  EXPECT_TRUE(factors.masked_select(kept).allclose(torch::full({1}, 1.0 / 0.75)));
  EXPECT_NEAR(kept.to(torch::kFloat64).mean().item<double>(), 0.75, 0.03);
  path->eval();
  EXPECT_FALSE(path->draw(torch::zeros({4})).defined());
  EXPECT_FALSE(DropPath(0.0)->draw(torch::zeros({4})).defined());
}

TEST(DropPath, AddsWhatItKeeps) {
  DropPath path(0.5);
  path->fixed = torch::tensor({0.0F, 2.0F});
  const Tensor x = torch::randn({2, 3, 4}), branch = torch::randn({2, 3, 4});
  const Tensor y = path->add(x, branch);
  EXPECT_TRUE(y[0].equal(x[0]));
  EXPECT_LT(distance(y[1], x[1] + 2 * branch[1]), 1e-6);
}

TEST(DropPath, GrowsWithDepth) {
  EXPECT_EQ(drop_path_rate(0.3, 0, 12), 0.0);
  EXPECT_DOUBLE_EQ(drop_path_rate(0.3, 11, 12), 0.3);
  EXPECT_DOUBLE_EQ(drop_path_rate(0.3, 1, 3), 0.15);
  EXPECT_EQ(drop_path_rate(0.3, 0, 1), 0.0);
  const auto holder = std::make_shared<torch::nn::Module>();
  BlockOptions block = small_block();
  block.drop_path = 1.0;  // the last block adds nothing, the first all
  const MegaStack stack({.block = block, .layers = 2}, *holder);
  int drops = 0;
  for (const auto& part : holder->modules())
    if (auto* path = part->as<DropPath>()) {
      const Tensor factors = path->draw(torch::zeros({3}));
      if (factors.defined()) {
        ++drops;
        EXPECT_TRUE(factors.equal(torch::zeros({3})));
      }
    }
  EXPECT_EQ(drops, 2) << "the sublayers of the last block";
}

// As released: without the candidate, the gate still takes a share of the input away.
TEST(DropPath, IsInsideTheGate) {
  torch::manual_seed(2);
  BlockOptions options = small_block();
  options.drop_path = 0.5;
  options.prenorm = true;
  GatedAttention layer(options);
  testing::scramble(*layer);
  const Tensor x = torch::randn({2, 7, options.width});
  for (const ops::Form form : {ops::Form::reference, ops::Form::fused}) {
    const ops::FormGuard guard(form);
    layer->drop_path->fixed = torch::zeros({2});
    const Tensor gone = layer->forward(x);
    layer->drop_path->fixed = torch::full({2}, 2.0);
    const Tensor kept = layer->forward(x);
    layer->drop_path->fixed = torch::full({2}, 1.0);
    const Tensor whole = layer->forward(x);
    EXPECT_LT(distance(kept - gone, 2 * (whole - gone)), 1e-5);
    const Tensor open = gone / x;  // 1 - update
    EXPECT_GT(open.min().item<double>(), -1e-5);
    EXPECT_LT(open.max().item<double>(), 1.0 + 1e-5);
  }
}

TEST(DropPath, BothFormsHaveTheSameGradients) {
  torch::manual_seed(3);
  BlockOptions options = small_block();
  options.drop_path = 0.5;
  options.dropout = 0.2;
  MegaBlock block(options);
  testing::scramble(*block);
  testing::compare_module_forms(*block, torch::randn({5, 9, options.width}),
                                [&](const Tensor& x) { return block->forward(x); });
}

}  // namespace
}  // namespace mega::nn
