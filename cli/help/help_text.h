// Help as people read it on a terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/help/command_info.h"

namespace mega::cli {

// At most `width` columns.
std::string help_text(const CommandInfo& command, int64_t width);

// What --help of the program and its commands prints: help_text, as wide as the terminal.
void use_help_text(CLI::App& app);

}  // namespace mega::cli
