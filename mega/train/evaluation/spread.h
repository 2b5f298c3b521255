// Some of many examples.
#pragma once

#include <cstdint>
#include <vector>

namespace mega::train {

// Numbers of `count` examples of 0 .. size-1, evenly spread: data sets are often sorted by class or by
// source.
inline std::vector<int64_t> spread(int64_t size, int64_t count) {
  std::vector<int64_t> chosen(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) chosen[static_cast<size_t>(i)] = i * size / count;
  return chosen;
}

}  // namespace mega::train
