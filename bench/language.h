// `mega bench lm`: scoring a text with a language model and with the Transformer of its size, and training a
// small one.
#pragma once

#include <vector>

#include "bench/benchmarks.h"

namespace mega::bench {

std::vector<Candidate> language_cases(const Settings& settings);

}  // namespace mega::bench
