// The runtime environment: threads, BLAS, versions.
#pragma once

#include <string>

namespace mega::ops {

// The number of cores this process may use.
int available_cores();

// Sets the number of threads of libtorch, OpenMP and the BLAS together. 0: all available cores.
void set_threads(int threads);
int threads();

struct Blas {
  std::string name;        // "OpenBLAS 0.3.21 ...", "reference BLAS"
  bool optimised = false;  // false: matrix products run about 30 times slower than with an optimised BLAS
};
Blas blas();

std::string torch_version();

}  // namespace mega::ops
