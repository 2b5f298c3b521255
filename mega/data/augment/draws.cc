#include "mega/data/augment/draws.h"

#include <cmath>
#include <numbers>

namespace mega::data {
namespace {

// The logarithm of a draw of Gamma(a, 1): for a small `a` the draw itself would often be 0. Marsaglia and
// Tsang 2000, with their rule for a < 1.
double draw_log_gamma(Random& draws, double a) {
  if (a < 1) {
    const double log_share = std::log(1.0 - draws.unit()) / a;
    return draw_log_gamma(draws, a + 1) + log_share;
  }
  const double d = a - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = draw_normal(draws);
    const double v = std::pow(1.0 + c * x, 3);
    if (v <= 0) continue;
    if (std::log(1.0 - draws.unit()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d) + std::log(v);
  }
}

}  // namespace

double draw_normal(Random& draws) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - draws.unit()));
  return radius * std::cos(2.0 * std::numbers::pi * draws.unit());
}

double draw_beta(Random& draws, double a) {
  const double one = draw_log_gamma(draws, a), other = draw_log_gamma(draws, a);
  return 1.0 / (1.0 + std::exp(other - one));
}

}  // namespace mega::data
