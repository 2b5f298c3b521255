#include "mega/base/system/wait_policy.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "mega/base/files/file.h"
#include "mega/base/strings.h"

namespace mega {
namespace {

constexpr const char* kPolicy = "OMP_WAIT_POLICY";
constexpr const char* kSpins = "GOMP_SPINCOUNT";
constexpr const char* kBlockTime = "KMP_BLOCKTIME";

// Some 80 microseconds: longer than it takes to wake a thread, so that those of one step rarely sleep, and a
// small part of a time slice, so that another program loses little (docs/performance.md, "A busy machine").
constexpr const char* kFewSpins = "3000";
constexpr long kMostSpins = 10'000;

// Of the environment that the program was started with, which is what the OpenMP runtime saw.
std::string initial_variable(std::string_view name) {
  static const std::string environment = read_file("/proc/self/environ");
  for (const std::string& entry : split(environment, '\0'))
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return "";
}

}  // namespace

void let_idle_threads_sleep() {
  for (const char* variable : {kPolicy, kSpins, kBlockTime})
    if (std::getenv(variable) != nullptr) return;
  ::setenv(kPolicy, "passive", 1);
  ::setenv(kSpins, kFewSpins, 1);
}

bool idle_threads_sleep() {
  const std::string spins = initial_variable(kSpins);
  if (!spins.empty()) {
    char* end = nullptr;
    const long count = std::strtol(spins.c_str(), &end, 10);
    return *end == '\0' && count >= 0 && count <= kMostSpins;
  }
  const std::string policy = initial_variable(kPolicy);
  return policy == "passive" || policy == "PASSIVE" || initial_variable(kBlockTime) == "0";
}

}  // namespace mega
