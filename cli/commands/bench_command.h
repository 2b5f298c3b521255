// The command line of `mega bench`.
#pragma once

#include <cstdint>
#include <string>

#include "bench/benchmarks.h"

namespace mega::cli {

struct BenchCommand {
  bench::Settings settings;
  std::string json;
  std::string data;
  int64_t memory_of = -1;
};

}  // namespace mega::cli
