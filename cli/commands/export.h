// The command `mega export`.
#pragma once

#include <CLI/CLI.hpp>

namespace mega::cli {

void add_export(CLI::App& app);

}  // namespace mega::cli
