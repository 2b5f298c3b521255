// `mega bench lm-table`: how fast language models read text, the speed column of the paper's table of
// language models, of every system from this program.
#pragma once

#include <vector>

#include "bench/results.h"
#include "bench/systems.h"

namespace mega::bench {

// With `quick`, of two layers each.
std::vector<System> lm_systems(bool quick);

Results run_lm_table(const SystemsSettings& settings);

}  // namespace mega::bench
