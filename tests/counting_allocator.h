// Counts the bytes in tensors: exact, unlike the resident size, which depends on what ran before.
#pragma once

#include <atomic>
#include <cstdlib>
#include <functional>

#include "mega/ops/torch.h"

namespace mega::testing {

// A block starts with its size.
class CountingAllocator final : public at::Allocator {
 public:
  // Applies to all tensors allocated from now on; best called before the first.
  static bool install() {
    c10::SetAllocator(at::kCPU, new CountingAllocator(), 1);  // outlives every tensor
    return true;
  }

  at::DataPtr allocate(size_t bytes) MEGA_ALLOCATE_CONST override {
    char* block = static_cast<char*>(
        std::aligned_alloc(kAlignment, (bytes + 2 * kAlignment - 1) / kAlignment * kAlignment));
    *reinterpret_cast<size_t*>(block) = bytes;
    const int64_t live = in_use_ += static_cast<int64_t>(bytes);
    for (int64_t seen = peak_; live > seen && !peak_.compare_exchange_weak(seen, live);) {
    }
    return {block + kAlignment, block + kAlignment, &release, at::kCPU};
  }
  at::DeleterFnPtr raw_deleter() const override { return &release; }
#if MEGA_TORCH_2
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
#endif

  // Peak number of bytes in tensors while `run` runs, minus the number before.
  static double growth(const std::function<void()>& run) {
    const int64_t before = in_use_;
    peak_ = before;
    run();
    return static_cast<double>(peak_ - before);
  }

 private:
  static void release(void* data) {
    if (data == nullptr) return;
    char* block = static_cast<char*>(data) - kAlignment;
    in_use_ -= static_cast<int64_t>(*reinterpret_cast<size_t*>(block));
    std::free(block);
  }
  static constexpr size_t kAlignment = 64;
  static inline std::atomic<int64_t> in_use_ = 0, peak_ = 0;
};

}  // namespace mega::testing
