// Random numbers of the distributions that augmentation draws from. The standard library's differ between
// implementations.
#pragma once

#include "mega/base/random.h"

namespace mega::data {

inline double draw_uniform(Random& draws, double low, double high) {
  return low + (high - low) * draws.unit();
}

// Mean 0, deviation 1 (Box and Muller).
double draw_normal(Random& draws);

// Beta(a, a), a > 0.
double draw_beta(Random& draws, double a);

}  // namespace mega::data
