// The subcommands, each in a file of its own, which declares its options and what runs after parsing.
#pragma once

#include <CLI/CLI.hpp>

namespace mega::cli {

void add_inspect(CLI::App& app);
void add_bench(CLI::App& app);
void add_presets(CLI::App& app);

}  // namespace mega::cli
