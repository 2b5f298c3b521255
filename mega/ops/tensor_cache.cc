#include "mega/ops/tensor_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "mega/base/error.h"
#include "mega/ops/phase.h"
#include "mega/ops/torch.h"

namespace mega::ops {
namespace {

constexpr size_t kAlignment = 64;   // of data; also the space in front of it that holds the block's size
constexpr size_t kLarge = 1 << 20;  // smaller blocks come from malloc
constexpr size_t kUnit =
    1 << 16;  // large blocks are multiples of this, so that blocks of similar size are reusable

struct Block {
  void* begin;
  size_t size;
};

// Keeps idle blocks while the total stays within 1/16 of the highest use so far.
class Blocks {
 public:
  // Of this size, or up to an eighth larger: batches of different lengths ask for ever other sizes.
  Block take(size_t size) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = idle_.lower_bound(size);
      const bool fits = found != idle_.end() && found->first <= size + size / 8;
      if (fits) size = found->first;
      in_use_ += size;
      highest_ = std::max(highest_, in_use_);
      if (fits) {
        const Block block{found->second, size};
        idle_.erase(found);
        idle_bytes_ -= size;
        return block;
      }
      trim();
    }
    void* begin = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(begin != MAP_FAILED, "out of memory: cannot allocate ", size >> 20, " MB for a tensor");
    return {begin, size};
  }

  void give_back(Block block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    in_use_ -= block.size;
    idle_.emplace(block.size, block.begin);
    idle_bytes_ += block.size;
    trim();
  }

 private:
  void trim() {
    while (!idle_.empty() && idle_bytes_ + in_use_ > highest_ + highest_ / 16) {
      const auto smallest = idle_.begin();
      munmap(smallest->second, smallest->first);
      idle_bytes_ -= smallest->first;
      idle_.erase(smallest);
    }
  }

  std::mutex mutex_;
  std::multimap<size_t, void*> idle_;
  size_t idle_bytes_ = 0, in_use_ = 0, highest_ = 0;
};

Blocks& blocks() {
  static auto* const instance = new Blocks();  // outlives every tensor
  return *instance;
}

// A block starts with its size; the data follows at the next multiple of the alignment.
void release(void* data) {
  if (data == nullptr) return;
  char* block = static_cast<char*>(data) - kAlignment;
  const size_t size = *reinterpret_cast<size_t*>(block);
  if (size >= kLarge) {
    blocks().give_back({block, size});
  } else {
    std::free(block);
  }
}

class TensorCache final : public at::Allocator {
 public:
  at::DataPtr allocate(size_t bytes) MEGA_ALLOCATE_CONST override {
    if (bytes == 0) return {nullptr, nullptr, &release, at::kCPU};
    const PhaseMark mark(Phase::allocation);
    const size_t unit = bytes >= kLarge ? kUnit : kAlignment;
    const size_t size = (bytes + kAlignment + unit - 1) / unit * unit;
    const Block block =
        size >= kLarge ? blocks().take(size) : Block{std::aligned_alloc(kAlignment, size), size};
    require(block.begin != nullptr, "out of memory: cannot allocate ", bytes, " bytes for a tensor");
    *static_cast<size_t*>(block.begin) = block.size;
    void* data = static_cast<char*>(block.begin) + kAlignment;
    return {data, data, &release, at::kCPU};
  }
  at::DeleterFnPtr raw_deleter() const override { return &release; }
#if MEGA_TORCH_2
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
#endif
};

}  // namespace

void use_tensor_cache() {
  static auto* const cache = new TensorCache();  // outlives every tensor
  c10::SetAllocator(at::kCPU, cache, 1);
}

}  // namespace mega::ops
