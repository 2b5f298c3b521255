#include "cli/seeds.h"

#include <cmath>
#include <exception>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega::cli {

std::vector<int64_t> parse_seeds(const std::string& text) {
  require(text.find_first_not_of("0123456789.,") == std::string::npos,
          "--seeds: expected 1..5 or 1,2,7, got ", in_quotes(text));
  std::vector<int64_t> seeds;
  try {
    if (const size_t dots = text.find(".."); dots != std::string::npos) {
      const int64_t first = std::stoll(text.substr(0, dots)), last = std::stoll(text.substr(dots + 2));
      for (int64_t seed = first; seed <= last && seeds.size() < 1000; ++seed) seeds.push_back(seed);
    } else {
      for (const std::string& part : split(text, ',')) seeds.push_back(std::stoll(part));
    }
  } catch (const std::exception&) {
    seeds.clear();
  }
  require(!seeds.empty(), "--seeds: expected 1..5 or 1,2,7, got ", in_quotes(text));
  return seeds;
}

MeanDeviation mean_deviation(const std::vector<double>& values) {
  MeanDeviation result;
  const auto count = static_cast<double>(values.size());
  for (const double x : values) result.mean += x / count;
  double squares = 0.0;
  for (const double x : values) squares += (x - result.mean) * (x - result.mean);
  if (values.size() > 1) result.deviation = std::sqrt(squares / (count - 1));
  return result;
}

}  // namespace mega::cli
