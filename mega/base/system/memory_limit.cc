#include "mega/base/system/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace mega {

int64_t memory_limit() {
  int64_t limit = std::numeric_limits<int64_t>::max();
  const auto at_most = [&](int64_t bytes) {
    if (bytes > 0) limit = std::min(limit, bytes);
  };
  at_most(static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(::sysconf(_SC_PAGESIZE)));
  int64_t container = 0;  // "max" where there is no limit: not a number
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> container) at_most(container);
  struct rlimit own {};
  if (::getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY)
    at_most(static_cast<int64_t>(own.rlim_cur));
  return limit;
}

}  // namespace mega
