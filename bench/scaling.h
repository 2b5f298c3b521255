// `mega bench scaling`: time and memory of a training step against the length of the sequence, with fitted
// exponents.
#pragma once

#include <span>
#include <vector>

#include "bench/results.h"
#include "bench/systems.h"
#include "mega/report/chart.h"

namespace mega::bench {

// Systems of the paper's text task. Each goes on to longer sequences as long as a step is expected to take no
// more than half a minute (5 s with `quick`) and 70 % of the memory.
Results run_scaling(const SystemsSettings& settings);

// The exponent b of a fit y = a x^b by least squares of logarithms; NaN for fewer than two points.
double fitted_exponent(std::span<const Point> points);

// The next of a series that grew by the same factor as it did last; the last of a shorter one.
double expected_next(std::span<const double> values);

}  // namespace mega::bench
