#include "mega/ops/tensor_cache.h"

#include <gtest/gtest.h>

#include "mega/ops/torch.h"

namespace mega::ops {
namespace {

constexpr int64_t kFloats = 4 << 20;

const void* freed_block() { return torch::empty({kFloats}).data_ptr(); }

class TensorCache : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    use_tensor_cache();
    torch::empty({8 * kFloats});  // the highest use decides how much may be idle
  }
};

TEST_F(TensorCache, GivesAFreedBlockToATensorOfItsSizeOrSlightlyLess) {
  const void* block = freed_block();
  EXPECT_EQ(torch::empty({kFloats}).data_ptr(), block);
  EXPECT_EQ(torch::empty({kFloats - kFloats / 16}).data_ptr(), block);
  EXPECT_EQ(torch::empty({kFloats}).data_ptr(), block) << "the block keeps its size";
}

TEST_F(TensorCache, KeepsABlockForLargeTensors) {
  const void* block = freed_block();
  const torch::Tensor half = torch::empty({kFloats / 2});
  EXPECT_NE(half.data_ptr(), block);
  EXPECT_EQ(torch::empty({kFloats}).data_ptr(), block);
}

TEST_F(TensorCache, KeepsAlignmentAndContents) {
  for (const int64_t size : {1L, 1000L, kFloats / 3, kFloats}) {
    const torch::Tensor x = torch::full({size}, 3.0), y = torch::full({size}, 4.0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(x.data_ptr()) % 64, 0u);
    EXPECT_EQ(x.min().item<float>(), 3.0f);
    EXPECT_EQ(x.max().item<float>(), 3.0f);
    EXPECT_EQ(y.min().item<float>(), 4.0f);
  }
}

}  // namespace
}  // namespace mega::ops
