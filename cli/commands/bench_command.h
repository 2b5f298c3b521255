// The command line of `mega bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/benchmarks.h"
#include "bench/precision.h"

namespace mega::cli {

struct BenchCommand {
  bench::Settings settings;
  std::string json, csv;
  std::string data;
  std::string time, out, charts;
  std::vector<std::string> only;
  int64_t seeds = 0;  // 0: the table's default
  bool quick = false;
  bool phases = false;
  bench::PrecisionSettings precision;
  int64_t memory_of = -1;
  std::string trial;
  std::vector<std::string> changes;
};

}  // namespace mega::cli
