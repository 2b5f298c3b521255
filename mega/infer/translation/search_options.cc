#include "mega/infer/translation/search_options.h"

#include <cmath>

#include "mega/base/error.h"

namespace mega::infer {

void check_search(const SearchOptions& options) {
  check_ranges(options, "search");
  require(options.nbest <= options.beam, "search: nbest = ", options.nbest, " translations of a beam of ",
          options.beam, ": raise `beam`, or ask for fewer");
  require(options.beam % options.groups == 0, "search: a beam of ", options.beam, " cannot be split into ",
          options.groups, " groups of equal size");
  require(!options.sample || options.groups == 1,
          "search: `sample` and `groups` exclude each other, sampled translations are diverse anyway");
}

double length_divisor(const SearchOptions& options, int64_t length) {
  const auto tokens = static_cast<double>(length);
  const double base = options.length_form == LengthForm::gnmt ? (5.0 + tokens) / 6.0 : tokens;
  return std::pow(base, options.length_penalty);
}

// The sum is at most 0, so that the largest divisor is the best one. It grows with the length if alpha > 0.
double best_attainable(const SearchOptions& options, double sum, int64_t length, int64_t max_length) {
  return sum / length_divisor(options, (options.length_penalty > 0.0 ? max_length : length) + 1);
}

}  // namespace mega::infer
