// What the program runs on: threads, BLAS, versions.
#pragma once

#include <string>

namespace mega::ops {

// Cores this process may use.
int available_cores();

// One number of threads for libtorch, OpenMP and the BLAS together. 0: all available cores.
void set_threads(int threads);
int threads();

struct Blas {
  std::string name;        // "OpenBLAS 0.3.21 ...", "reference BLAS"
  bool optimised = false;  // false: matrix products run some 30 times slower than they could
};
Blas blas();

std::string torch_version();

}  // namespace mega::ops
