// The speed of this machine, for estimates.
#pragma once

#include "mega/infer/thread_pool.h"

namespace mega::infer {

// GFLOP/s of float32 matrix products by the engine's kernels. Measured for about ten milliseconds, so it is
// rough on a machine that does something else, too.
double product_gflops(ThreadPool& pool);

}  // namespace mega::infer
