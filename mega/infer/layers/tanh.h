// tanh in place, of layers before an output, where speed is no concern.
#pragma once

#include <cmath>
#include <cstdint>

#include "mega/infer/workspace.h"
#include "mega/kernels/dot.h"

namespace mega::infer {

// x (rows, columns).
inline void apply_tanh(kernels::Rows x, int64_t rows, int64_t columns, const Run& run) {
  run.rows(rows, columns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t i = 0; i < columns; ++i) x[row][i] = std::tanh(x[row][i]);
  });
}

}  // namespace mega::infer
