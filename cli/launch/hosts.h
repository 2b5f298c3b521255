// The machines that `mega launch` starts processes on.
#pragma once

#include <string>
#include <vector>

namespace mega::cli {

struct LaunchHost {
  std::string name;
  int processes = 1;
};

// A name in each line, and "slots=N" where it takes more than one process, as mpirun has it; # begins a
// comment. `where` stands in messages.
std::vector<LaunchHost> parse_hosts(const std::string& text, const std::string& where);

// The host of each of n processes, filled in order; an Error if there is not room for all.
std::vector<std::string> place_processes(const std::vector<LaunchHost>& hosts, int n);

}  // namespace mega::cli
