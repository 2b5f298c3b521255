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
  std::vector<std::string> only;
  bool quick = false;
  bool phases = false;
  bench::PrecisionSettings precision;
  int64_t memory_of = -1;
  std::string system;
};

}  // namespace mega::cli
