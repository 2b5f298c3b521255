// What stands for a whole sequence.
#pragma once

#include <cstdint>

#include "mega/kernels/rows.h"

namespace mega::infer {

// out (width) = the mean of x (rows, width), summed in double.
void mean_of_rows(kernels::ConstRows x, int64_t rows, int64_t width, float* out);

}  // namespace mega::infer
