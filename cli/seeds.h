// Lists of seeds on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mega::cli {

// "1..5" or "1,2,7"; an Error that names --seeds for anything else.
std::vector<int64_t> parse_seeds(const std::string& text);

// Over seeds. The deviation is that of a sample; 0 of one value.
struct MeanDeviation {
  double mean = 0.0, deviation = 0.0;
};
MeanDeviation mean_deviation(const std::vector<double>& values);

}  // namespace mega::cli
