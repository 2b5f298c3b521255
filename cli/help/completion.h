// Completion of command lines in shells, made from the declarations of the commands.
#pragma once

#include <string>

#include "cli/help/command_info.h"

namespace mega::cli {

// A script for the shell to source or to find by the program's name: commands, options, their choices,
// presets and files.
std::string bash_completion(const CommandInfo& program);
std::string zsh_completion(const CommandInfo& program);
std::string fish_completion(const CommandInfo& program);

}  // namespace mega::cli
