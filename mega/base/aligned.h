// Memory aligned to a cache line, for vector loads and stores.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace mega {

inline constexpr size_t kCacheLine = 64;
inline constexpr size_t kHugePage = 2 << 20;

// Uninitialised memory for std::free, if it is large in huge pages where the system has them: they save page
// faults and look-ups of addresses. Throws std::bad_alloc.
void* allocate_aligned(size_t size);

template <class T>
struct AlignedAllocator {
  using value_type = T;

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}

  T* allocate(size_t count) { return static_cast<T*>(allocate_aligned(count * sizeof(T))); }
  void deallocate(T* memory, size_t) { std::free(memory); }

  friend bool operator==(AlignedAllocator, AlignedAllocator) { return true; }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace mega
