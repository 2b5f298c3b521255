#include "mega/ops/runtime.h"

#include <dlfcn.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <thread>

#include "mega/ops/torch.h"

namespace mega::ops {
namespace {

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void set_threads(int threads) {
  const int count = threads > 0 ? threads : available_cores();
  omp_set_num_threads(count);
  at::set_num_threads(count);
  if (auto* set = find<void(int)>("openblas_set_num_threads")) set(count);
}

int threads() { return at::get_num_threads(); }

Blas blas() {
  if (auto* config = find<char*()>("openblas_get_config")) return {config(), true};
  if (auto* version = find<const char*()>("bli_info_get_version_str"))
    return {std::string("BLIS ") + version(), true};
  if (find<void(char*, int)>("MKL_Get_Version_String") != nullptr) return {"MKL", true};
  if (find<void()>("ATL_sgemm") != nullptr) return {"ATLAS", true};
  return {"reference BLAS", false};
}

std::string torch_version() { return TORCH_VERSION; }

}  // namespace mega::ops
