#include "mega/ops/watch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/base/helpers.h"

namespace mega::ops {
namespace {

const torch::Tensor kFine = torch::ones({2}), kBad = torch::full({2}, std::nan(""));

TEST(Watch, ReportsTheFirstPlaceByItsFullName) {
  const Watch watcher;
  watch("embed", kFine);
  {
    const WatchScope layer("layers", 3);
    const WatchScope head("heads", 1);
    watch("out", kBad);
  }
  watch("later", kBad);
  EXPECT_EQ(watcher.found(), "layers.3.heads.1.out");
}

TEST(Watch, AScopeEndsWithItsBlock) {
  const Watch watcher;
  try {
    const WatchScope layer("layers", 0);
    fail("in a layer");
  } catch (const Error&) {
  }
  watch("head", torch::full({1}, INFINITY));
  EXPECT_EQ(watcher.found(), "head");
}

TEST(Watch, WithoutAWatchNothingIsChecked) {
  const WatchScope before("layers", 0);
  watch("x", kBad);
  {
    const Watch watcher;
    watch("x", kFine);
    EXPECT_EQ(watcher.found(), "");
    EXPECT_PRED2(testing::contains, testing::error_of([] { Watch second; }), "already has a Watch");
  }
  const Watch again;
  watch("x", kBad);
  EXPECT_EQ(again.found(), "x");
}

}  // namespace
}  // namespace mega::ops
