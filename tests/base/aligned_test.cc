#include "mega/base/aligned.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>

namespace mega {
namespace {

TEST(Aligned, MemoryOfAnySizeIsAligned) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65}, kHugePage - 1, kHugePage, 3 * kHugePage + 1}) {
    auto* const memory = static_cast<char*>(allocate_aligned(size));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % (size < kHugePage ? kCacheLine : kHugePage), 0u) << size;
    for (size_t i = 0; i < size; i += 1024) memory[i] = 1;
    if (size > 0) memory[size - 1] = 1;
    std::free(memory);
  }
}

TEST(Aligned, TooMuchIsAnError) {
  EXPECT_THROW(allocate_aligned(size_t{1} << 60), std::bad_alloc);
  EXPECT_THROW(allocate_aligned(SIZE_MAX), std::bad_alloc) << "rounding up must not wrap around";
}

}  // namespace
}  // namespace mega
