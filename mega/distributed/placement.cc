#include "mega/distributed/placement.h"

#include <charconv>
#include <cstdlib>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega::distributed {
namespace {

// The variables by which a launcher says which process this is.
struct Launcher {
  const char *rank, *size, *local_size;  // local_size: processes on this machine; null: not said
};
constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", nullptr},
};

int64_t number(const char* name, const std::string& text, int64_t least, int64_t most) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  require(error == std::errc() && stop == end && value >= least && value <= most, name,
          ": expected a number from ", least, " to ", most, ", got ", in_quotes(text));
  return value;
}

std::string master_of(const Environment& environment, const Launcher& launcher, const Placement& placement) {
  if (const auto master = environment("MASTER_ADDR")) return *master;
  if (const auto nodes = environment("SLURM_STEP_NODELIST")) return first_host(*nodes);
  if (placement.local_size == placement.size) return "127.0.0.1";
  fail("there are ", placement.size, " processes (", launcher.size,
       "), and nothing says where they meet: set MASTER_ADDR to the name or address of rank 0's machine, the "
       "same for all");
}

std::chrono::milliseconds seconds(const Environment& environment, const char* name,
                                  std::chrono::milliseconds otherwise) {
  constexpr int64_t kLongest = 1'000'000;
  const auto text = environment(name);
  return text ? std::chrono::seconds(number(name, *text, 1, kLongest)) : otherwise;
}

}  // namespace

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string first_host(const std::string& list) {
  const size_t end = list.find_first_of(",[");
  const std::string prefix = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',') return prefix;
  const size_t stop = list.find_first_of(",-]", end);
  require(stop != std::string::npos, "expected a list of hosts such as node[01-04], got ", in_quotes(list));
  const size_t close = list.find(']', end);
  require(close != std::string::npos, "expected a list of hosts such as node[01-04], got ", in_quotes(list));
  return prefix + list.substr(end + 1, stop - end - 1) +
         list.substr(close + 1, list.find(',', close) - close - 1);
}

std::optional<Placement> placement_from(const Environment& environment) {
  constexpr int64_t kMost = 65536;
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = environment(launcher.rank), size = environment(launcher.size);
    if (!rank || !size) continue;
    Placement placement;
    placement.size = static_cast<int>(number(launcher.size, *size, 1, kMost));
    placement.rank = static_cast<int>(number(launcher.rank, *rank, 0, placement.size - 1));
    if (placement.size == 1) return std::nullopt;
    if (const auto local = launcher.local_size == nullptr ? std::nullopt : environment(launcher.local_size))
      placement.local_size = static_cast<int>(number(launcher.local_size, *local, 1, placement.size));
    placement.master = master_of(environment, launcher, placement);
    if (const auto port = environment("MASTER_PORT"))
      placement.port = static_cast<uint16_t>(number("MASTER_PORT", *port, 1, 65535));
    placement.token = environment("MEGA_TOKEN").value_or("");
    require(
        !placement.token.empty(), "there are ", placement.size, " processes (", launcher.size,
        ") and no MEGA_TOKEN, by which they know each other: set it to a secret of your own, the same for "
        "all, e.g. export MEGA_TOKEN=$(openssl rand -hex 16); `mega launch` does so by itself");
    placement.join = seconds(environment, "MEGA_JOIN_SECONDS", placement.join);
    placement.silence = seconds(environment, "MEGA_SILENCE_SECONDS", placement.silence);
    return placement;
  }
  return std::nullopt;
}

}  // namespace mega::distributed
