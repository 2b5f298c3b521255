// Rows of work over the threads libtorch was given.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

namespace mega::ops {

// Calls body(begin, end) on contiguous ranges of rows; a range is worth at least some thousand elements.
template <class Body>
void parallel_rows(int64_t rows, int64_t columns, const Body& body) {
  at::parallel_for(0, rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, columns)), body);
}

}  // namespace mega::ops
