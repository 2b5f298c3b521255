// Processes that are started together and end together.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mega::cli {

struct ProcessStart {
  std::string name;  // in messages
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // beside that of this process
  std::string input;                               // what it reads from standard input
  // Signals do not get through to it: in place of SIGINT, SIGTERM and SIGHUP, its standard input ends.
  bool is_far = false;
  // What it prints is added to this file; empty: printed where this one prints.
  std::filesystem::path log = {};
};

struct GroupEnd {
  int status = 0;  // of the first that failed, as a shell has it: 128 + N of signal N
  int signal = 0;  // that this process got, and passed on
};

// Runs them until all have ended. When one fails, the others get `grace` to find out and end by themselves;
// who has not ended then is terminated, and killed 10 s later. Of the first that fails without having been
// able to say why, it is said to standard error. Signals that this process gets are passed on. If this
// process dies, they are terminated, and the input of those that are far ends. `meanwhile` is called twice a
// second.
GroupEnd run_group(
    const std::vector<ProcessStart>& starts, std::chrono::seconds grace,
    const std::function<void()>& meanwhile = [] {});

}  // namespace mega::cli
