#include "mega/base/system/blas_kernels.h"

#include <cstdlib>

namespace mega {

void choose_blas_kernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    ::setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
}

}  // namespace mega
