// Processes that are started together and end together.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace mega::cli {

struct ProcessStart {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // beside that of this process
  std::string input;                               // what it reads from standard input
  // Signals do not get through to it: in place of SIGINT, SIGTERM and SIGHUP, its standard input ends.
  bool is_far = false;
};

struct GroupEnd {
  std::vector<int> statuses;  // as a shell has them: 128 + N of signal N
  int signal = 0;             // that this process got, and passed on
  bool ok() const;
  int status() const;  // the first that is not 0
};

// Runs them until all have ended. When one fails, the others get `grace` to find out and end by themselves;
// who has not ended then is terminated, and killed 10 s later. Signals that this process gets are passed on.
// If this process dies, they are terminated, and the input of those that are far ends.
GroupEnd run_group(const std::vector<ProcessStart>& starts, std::chrono::seconds grace);

}  // namespace mega::cli
