// Where the time of a step goes, by phase (mega/ops/phase.h).
#pragma once

#include <string>
#include <vector>

#include "bench/benchmarks.h"
#include "mega/ops/phase.h"

namespace mega::bench {

// Means over the repetitions.
struct PhaseRow {
  std::string name, precision;
  double seconds = 0.0;
  ops::PhaseTimes times = {};
  double page_faults = 0.0;
};

struct PhaseTable {
  std::vector<PhaseRow> rows;
  std::string markdown() const;
  std::string json() const;
};

// Of the fused form of each row of a table.
PhaseTable run_phases(const Settings& settings);

}  // namespace mega::bench
