// Running another program and waiting for it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mega {

struct ProgramEnd {
  bool ok = false;
  std::string how;     // "exit status 1", "signal 9 (Killed)"
  std::string output;  // the end of what it printed to both of its outputs, at most 64 KiB
};

// Runs the program (looked up on PATH, no shell between) in the folder, with nothing to read, until it ends.
// None where there is no such program. If this process dies meanwhile, the program is ended by SIGPIPE as
// soon as it prints something.
std::optional<ProgramEnd> run_program(const std::vector<std::string>& command,
                                      const std::filesystem::path& folder);

}  // namespace mega
