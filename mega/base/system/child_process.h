// Runs another program and waits for it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mega {

struct ProgramEnd {
  bool ok = false;
  std::string how;     // "exit status 1", "signal 9 (Killed)"
  std::string output;  // the last 64 KiB of its standard output and standard error
};

// Runs the program (looked up on PATH, no shell) in the folder with empty standard input until it exits.
// nullopt if there is no such program. If this process dies, SIGPIPE ends the program as soon as it prints
// something.
std::optional<ProgramEnd> run_program(const std::vector<std::string>& command,
                                      const std::filesystem::path& folder);

}  // namespace mega
