// The feed-forward as one operation against its two layers.
#include "mega/ops/feed_forward.h"

#include <gtest/gtest.h>

#include "tests/compare.h"

namespace mega::ops {
namespace {

using mega::testing::compare_forms;
using mega::testing::Tensors;

void check(int64_t length, int64_t width, int64_t hidden, Activation activation, float rate) {
  SCOPED_TRACE(::testing::Message() << "L=" << length << " D=" << width << " F=" << hidden << " "
                                    << to_string(activation) << ", dropout " << rate);
  compare_forms(
      [&](const Tensors& in) {
        return feed_forward(in[0], in[1], in[2], activation, {rate, 5}, in[3], in[4]);
      },
      {torch::randn({2, length, width}), torch::randn({hidden, width}) / 6, torch::randn({hidden}),
       torch::randn({width, hidden}) / 6, torch::randn({width})});
}

TEST(FeedForwardOp, FormsAgree) {
  torch::manual_seed(1);
  for (const Activation activation : {Activation::silu, Activation::gelu, Activation::relu})
    for (const float rate : {0.0f, 0.3f}) check(19, 33, 40, activation, rate);
}

// Small weights: blocks of rows on each thread. Large ones: all rows at once.
TEST(FeedForwardOp, BlocksOfRowsMakeNoDifference) {
  torch::manual_seed(2);
  check(1300, 33, 40, Activation::silu, 0.3f);
  check(1300, 260, 520, Activation::silu, 0.3f);
}

}  // namespace
}  // namespace mega::ops
