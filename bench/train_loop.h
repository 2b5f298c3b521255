// `mega bench train`: the whole training loop compared with bare steps on the same batches.
#pragma once

#include <vector>

#include "bench/benchmarks.h"

namespace mega::bench {

// Texts with the length distribution of film reviews, cut at the preset's limit. Token counts exclude
// padding.
std::vector<Candidate> train_loop_cases(const Settings& settings);

}  // namespace mega::bench
