// The feed-forward as one operation against its two layers.
#include "mega/ops/feed_forward.h"

#include <gtest/gtest.h>

#include "tests/compare.h"

namespace mega::ops {
namespace {

using mega::testing::compare_forms;
using mega::testing::Tensors;

TEST(FeedForwardOp, FormsAgree) {
  torch::manual_seed(1);
  for (const Activation activation : {Activation::silu, Activation::gelu, Activation::relu}) {
    for (const float rate : {0.0f, 0.3f}) {
      SCOPED_TRACE(::testing::Message() << to_string(activation) << ", dropout " << rate);
      compare_forms(
          [&](const Tensors& in) {
            return feed_forward(in[0], in[1], in[2], activation, {rate, 5}, in[3], in[4]);
          },
          {torch::randn({2, 19, 33}), torch::randn({40, 33}) / 6, torch::randn({40}),
           torch::randn({33, 40}) / 6, torch::randn({33})});
    }
  }
}

}  // namespace
}  // namespace mega::ops
