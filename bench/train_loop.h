// `mega bench train`: the whole training loop against bare steps on the same batches.
#pragma once

#include <vector>

#include "bench/benchmarks.h"

namespace mega::bench {

// Texts whose lengths are spread as film reviews' are, cut at the preset's limit. Tokens are counted without
// padding.
std::vector<Candidate> train_loop_cases(const Settings& settings);

}  // namespace mega::bench
