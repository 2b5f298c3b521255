// `mega bench lm`: scores a text with a language model and with a Transformer of equal size, and trains a
// small model.
#pragma once

#include <vector>

#include "bench/benchmarks.h"

namespace mega::bench {

std::vector<Candidate> language_cases(const Settings& settings);

}  // namespace mega::bench
