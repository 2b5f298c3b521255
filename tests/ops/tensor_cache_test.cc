#include "mega/ops/tensor_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "mega/ops/torch.h"
#include "tests/base/helpers.h"

namespace mega::ops {
namespace {

using torch::Tensor;

constexpr int64_t kMega = 1 << 18;  // floats in a MB

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  EXPECT_GT(resident, 0);
  return resident * sysconf(_SC_PAGESIZE);
}

// Touches every page.
Tensor filled(int64_t megabytes) { return torch::ones({megabytes * kMega}); }

class TensorCache : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { use_tensor_cache(); }
};

TEST_F(TensorCache, GivesAFreedBlockToTheNextTensors) {
  filled(256);  // idle from here on
  const void* block = filled(16).data_ptr();
  EXPECT_EQ(filled(16).data_ptr(), block);
  const Tensor part = filled(6), other = filled(10);
  for (const Tensor& x : {part, other}) {
    EXPECT_GE(x.data_ptr(), block);
    EXPECT_LE(x.data_ptr<float>() + x.numel(), static_cast<const float*>(block) + 16 * kMega);
  }
}

TEST_F(TensorCache, NeighboursBecomeOneBlock) {
  const void* whole = filled(256).data_ptr();
  for (int round = 0; round < 3; ++round) {
    std::vector<Tensor> parts;
    for (int i = 0; i < 16; ++i) parts.push_back(filled(16));
    while (!parts.empty()) parts.erase(parts.begin() + static_cast<int64_t>(parts.size()) / 2);
    EXPECT_EQ(filled(256).data_ptr(), whole);
  }
}

// Holes that nothing fits into give their memory back.
TEST_F(TensorCache, KeepsLittleMoreThanTheHighestUse) {
  std::vector<Tensor> all;
  filled(256);
  for (int i = 0; i < 60; ++i) all.push_back(filled(4));  // 240 MB
  const int64_t before = resident_bytes();
  for (size_t i = 0; i < all.size(); i += 2) all[i].reset();
  for (int i = 0; i < 22; ++i) all.push_back(filled(5));  // 120 MB left and these
  EXPECT_LT(resident_bytes() - before, 32 << 20) << "230 MB in use, 120 MB of holes";
  for (const Tensor& x : all) {
    if (x.defined()) {
      EXPECT_EQ(x.min().item<float>(), 1.0f) << "memory in use is left alone";
    }
  }
}

TEST_F(TensorCache, KeepsAlignmentAndContents) {
  const auto work = [](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<Tensor, float>> held;
    for (int i = 0; i < 600; ++i) {
      const auto value = static_cast<float>(i);
      const auto size = static_cast<int64_t>(random() % 3 == 0 ? random() % 1000 : random() % (12 * kMega));
      held.emplace_back(torch::full({size + 1}, value), value);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(held.back().first.data_ptr()) % 64, 0u);
      if (held.size() < 12) continue;
      const size_t which = random() % held.size();
      const auto& [x, expected] = held[which];
      ASSERT_EQ(x[0].item<float>(), expected);
      ASSERT_EQ(x[-1].item<float>(), expected);
      ASSERT_EQ(x.min().item<float>(), x.max().item<float>());
      held.erase(held.begin() + static_cast<int64_t>(which));
    }
  };
  std::thread other([&] { work(1); });
  work(2);
  other.join();
}

TEST_F(TensorCache, FreesWhatWasAllocatedByHand) {
  c10::Allocator& allocator = *c10::GetAllocator(torch::kCPU);
  for (const size_t bytes : {size_t{100}, size_t{5} << 20}) {
    void* const memory = allocator.raw_allocate(bytes);
    ASSERT_NE(memory, nullptr);
    allocator.raw_deallocate(memory);
  }
}

TEST_F(TensorCache, SaysWhenThereIsNoMemory) {
  EXPECT_PRED2(testing::contains, testing::error_of([] { torch::empty({int64_t{1} << 46}); }),
               "out of memory: cannot allocate");
  EXPECT_EQ(filled(4).sum().item<float>(), static_cast<float>(4 * kMega)) << "goes on";
}

}  // namespace
}  // namespace mega::ops
