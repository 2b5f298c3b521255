// Memory aligned to a cache line, for vector loads and stores.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace mega {

inline constexpr size_t kCacheLine = 64;

template <class T>
struct AlignedAllocator {
  using value_type = T;

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}

  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(kCacheLine)));
  }
  void deallocate(T* memory, size_t) { ::operator delete(memory, std::align_val_t(kCacheLine)); }

  friend bool operator==(AlignedAllocator, AlignedAllocator) { return true; }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace mega
