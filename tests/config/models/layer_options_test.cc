#include "mega/config/models/layer_options.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;

TEST(BlockOptions, DefaultsAreValid) { EXPECT_NO_THROW(validate(BlockOptions())); }

TEST(BlockOptions, ChunkZeroIsNoLength) {
  BlockOptions options;
  options.chunk = 0;
  EXPECT_PRED2(contains, error_of([&] { validate(options); }), "use -1 for full attention");
}

TEST(BlockOptions, RotationsNeedPairs) {
  BlockOptions options;
  options.shared = 63;
  EXPECT_NO_THROW(validate(options));
  for (const PositionKind position : {PositionKind::rotary, PositionKind::rope}) {
    options.position = position;
    EXPECT_PRED2(contains, error_of([&] { validate(options); }), "must be even, got 63");
  }
}

TEST(BlockOptions, CausalBlocksDoNotSeeTheFuture) {
  BlockOptions options;
  options.causal = true;
  EXPECT_PRED2(contains, error_of([&] { validate(options); }), "ema.bidirectional = false");
  options.ema.dimension = 0;
  EXPECT_NO_THROW(validate(options)) << "no moving average, nothing to see with";
}

TEST(BlockOptions, RangesHoldForOptionsFromCode) {
  BlockOptions options;
  options.dropout = 1.5;
  EXPECT_EQ(error_of([&] { validate(options); }), "block: dropout: expected a number, 0 to 1, got 1.5");
  options.dropout = 0;
  options.ema.dimension = -1;
  EXPECT_PRED2(contains, error_of([&] { validate(options); }),
               "block: ema.dimension: expected a whole number");
}

}  // namespace
}  // namespace mega
