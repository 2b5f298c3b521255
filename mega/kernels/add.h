// Element-wise addition of rows.
#pragma once

#include "mega/kernels/rows.h"

namespace mega::kernels {

// y = a + b; y may alias a or b.
void add(ConstRows a, ConstRows b, Rows y, int64_t begin, int64_t end, int64_t columns);

}  // namespace mega::kernels
