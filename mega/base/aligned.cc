#include "mega/base/aligned.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace mega {

void* allocate_aligned(size_t size) {
  const bool large = size >= kHugePage;
  const size_t alignment = large ? kHugePage : kCacheLine;
  const size_t whole = (size + alignment - 1) / alignment * alignment;
  void* const memory = whole < size ? nullptr : std::aligned_alloc(alignment, whole);
  if (memory == nullptr) throw std::bad_alloc();
  if (large) madvise(memory, size / kHugePage * kHugePage, MADV_HUGEPAGE);  // works without, too
  return memory;
}

}  // namespace mega
