// `mega bench table2`: speed and memory of a training step on bytes of text, the last columns of the paper's
// table 2, of every system from this program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mega::bench {

struct Table2Settings {
  int64_t length = 4000;
  int64_t batch = 1;
  int repeats = 7;
  int threads = 0;
  std::vector<std::string> only;  // names of systems; empty: all
};

// A system beside the Transformer in its plain form.
struct Table2Row {
  std::string name;
  int64_t parameters = 0;
  double median_s = 0.0, spread = 0.0;  // spread: half the interquartile range, relative to the median
  double tokens_per_s = 0.0, peak_mb = 0.0;
  double speed = 0.0, memory = 0.0;  // relative to the plain Transformer; 0 if that was not measured
  std::string paper_speed, paper_memory;
};

struct Table2 {
  std::vector<Table2Row> rows;

  std::string markdown() const;
  std::string csv() const;
  std::string json() const;
};

// The names of all systems.
std::vector<std::string> table2_systems();

// Each system in a process of its own, one after the other, round after round; medians over rounds.
Table2 run_table2(const Table2Settings& settings);

// What such a process runs for one system: "seconds megabytes", of a training step and of its peak memory.
std::string run_table2_system(const Table2Settings& settings, const std::string& name);

}  // namespace mega::bench
