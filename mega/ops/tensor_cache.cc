#include "mega/ops/tensor_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <unordered_map>

#include "mega/base/aligned.h"
#include "mega/base/error.h"
#include "mega/ops/phase.h"
#include "mega/ops/torch.h"

namespace mega::ops {
namespace {

constexpr size_t kLarge = 1 << 18;     // smaller blocks come from malloc
constexpr size_t kUnit = 1 << 16;      // large blocks are multiples of this, so that few bytes are left over
constexpr size_t kSegment = 64 << 20;  // least that is asked of the system at once

struct Block {
  char* begin;
  size_t size;
  char* end() const { return begin + size; }
};

size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }
// The first huge page at or after p.
char* huge_page(char* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return p + (round_up(address, kHugePage) - address);
}

// Addresses from which blocks are cut and to which they return. They take no memory until they are touched.
// What was touched and is idle keeps its memory as long as it is, with what is in use, at most 1/64 above the
// highest use so far.
class Arena {
 public:
  char* take(size_t size) {
    size = round_up(size, kUnit);
    const std::lock_guard<std::mutex> lock(mutex_);
    char* end = find(size);
    if (end == nullptr) {
      map_more(size);
      end = find(size);
    }
    const Block block{end - size, size};
    while (end != block.begin) {
      const Range range = remove(std::prev(idle_.lower_bound(end)));
      end = std::max(range.block.begin, block.begin);
      add({{range.block.begin, static_cast<size_t>(end - range.block.begin)}, range.touched});
    }
    sizes_.emplace(block.begin, size);
    in_use_ += size;
    highest_ = std::max(highest_, in_use_);
    trim();
    return block.begin;
  }

  // False if the block is not from here.
  bool give_back(void* block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = sizes_.find(block);
    if (found == sizes_.end()) return false;
    in_use_ -= found->second;
    add({{static_cast<char*>(block), found->second}, /*touched=*/true});
    sizes_.erase(found);
    trim();
    return true;
  }

 private:
  struct Range {
    Block block;
    bool touched;
  };
  using Ranges = std::map<char*, Range>;  // by address; touching ones differ in `touched`

  // The end of the highest idle addresses that are enough, or null. New ones are below others, so that what
  // was touched is used first.
  char* find(size_t size) const {
    Block run{nullptr, 0};
    for (auto range = idle_.rbegin(); range != idle_.rend(); ++range) {
      const Block& block = range->second.block;
      run = block.end() == run.begin ? Block{block.begin, block.size + run.size} : block;
      if (run.size >= size) return run.end();
    }
    return nullptr;
  }

  void map_more(size_t size) {
    if (map(std::max(size, kSegment))) return;
    while (!idle_.empty()) {
      const Range range = remove(idle_.begin());
      munmap(range.block.begin, range.block.size);
    }
    require(map(size), "out of memory: cannot allocate ", size >> 20, " MB for a tensor");
  }

  // Below the latest addresses, if possible: then a block may lie across both.
  bool map(size_t size) {
    size = round_up(size, kHugePage);
    const size_t mapped = size + kHugePage;  // of which whole huge pages are used
    char* wish = reinterpret_cast<uintptr_t>(latest_) > mapped ? latest_ - mapped : nullptr;
    void* got = mmap(wish, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) return false;
    auto* const begin = static_cast<char*>(got);
    char* const first = begin + mapped == latest_ ? latest_ - size : huge_page(begin);
    if (first > begin) munmap(begin, static_cast<size_t>(first - begin));
    if (first + size < begin + mapped)
      munmap(first + size, static_cast<size_t>(begin + mapped - first) - size);
    madvise(first, size, MADV_HUGEPAGE);  // a wish, too
    latest_ = first;
    add({{first, size}, /*touched=*/false});
    return true;
  }

  void add(Range range) {
    if (range.block.size == 0) return;
    const auto joins = [&](Ranges::iterator other) { return other->second.touched == range.touched; };
    auto next = idle_.lower_bound(range.block.end());
    if (next != idle_.end() && next->first == range.block.end() && joins(next))
      range.block.size += remove(next).block.size;
    const auto above = idle_.lower_bound(range.block.begin);
    if (above != idle_.begin()) {
      const auto before = std::prev(above);
      if (before->second.block.end() == range.block.begin && joins(before)) {
        const Block below = remove(before).block;
        range.block = {below.begin, below.size + range.block.size};
      }
    }
    idle_.emplace(range.block.begin, range);
    if (range.touched) touched_ += range.block.size;
  }

  Range remove(Ranges::iterator which) {
    const Range range = which->second;
    idle_.erase(which);
    if (range.touched) touched_ -= range.block.size;
    return range;
  }

  // The whole huge pages of a range that hold memory.
  static Block huge_pages(const Range& range) {
    char *first = huge_page(range.block.begin), *last = huge_page(range.block.end() - kHugePage + 1);
    return {first, range.touched && first < last ? static_cast<size_t>(last - first) : 0};
  }

  // Gives memory back, of the largest range first. Parts of huge pages stay: the system would take them
  // apart.
  void trim() {
    const size_t most = highest_ + highest_ / 64;
    while (touched_ + in_use_ > most) {
      const auto largest = std::max_element(idle_.begin(), idle_.end(), [](const auto& a, const auto& b) {
        return huge_pages(a.second).size < huge_pages(b.second).size;
      });
      if (largest == idle_.end()) return;
      Block freed = huge_pages(largest->second);
      if (freed.size == 0) return;
      freed.size = std::min(freed.size, round_up(touched_ + in_use_ - most, kHugePage));
      const Block block = remove(largest).block;
      madvise(freed.begin, freed.size, MADV_DONTNEED);
      add({freed, /*touched=*/false});
      add({{block.begin, static_cast<size_t>(freed.begin - block.begin)}, /*touched=*/true});
      add({{freed.end(), static_cast<size_t>(block.end() - freed.end())}, /*touched=*/true});
    }
  }

  std::mutex mutex_;
  Ranges idle_;
  std::unordered_map<void*, size_t> sizes_;  // of the blocks in use
  char* latest_ = nullptr;                   // where what was mapped last begins
  size_t touched_ = 0;                       // idle bytes that were in use before
  size_t in_use_ = 0, highest_ = 0;
};

Arena& arena() {
  static auto* const instance = new Arena();  // outlives every tensor
  return *instance;
}

void release(void* block) {
  const bool large = reinterpret_cast<uintptr_t>(block) % kUnit == 0;  // or by chance
  if (!large || !arena().give_back(block)) std::free(block);
}

class TensorCache final : public at::Allocator {
 public:
  at::DataPtr allocate(size_t bytes) MEGA_ALLOCATE_CONST override {
    if (bytes == 0) return {nullptr, nullptr, &release, at::kCPU};
    const PhaseMark mark(Phase::allocation);
    void* block = bytes >= kLarge ? arena().take(bytes) : allocate_aligned(bytes);
    return {block, block, &release, at::kCPU};
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
