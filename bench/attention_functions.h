// `mega bench functions`: the shapes of the paper's attention functions laplace and relu² (its appendix C).
#pragma once

#include "bench/results.h"

namespace mega::bench {

// Both and their derivatives from -1 to 3. They touch at sqrt(1/2), where laplace's coefficients come from
// (the paper's text has sqrt(2), where they do not: 2 and 0.994).
Results attention_functions();

}  // namespace mega::bench
