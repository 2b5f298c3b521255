// `mega bench table2`: speed and memory of a training step on bytes of text, the last columns of the paper's
// table 2, of every system from this program.
#pragma once

#include <vector>

#include "bench/results.h"
#include "bench/systems.h"

namespace mega::bench {

// The first is what all others are compared with.
const std::vector<System>& table2_systems();

Results run_table2(const SystemsSettings& settings);

}  // namespace mega::bench
