// What the programs `mega` and `mega-run` have in common: start and errors.
#pragma once

#include <CLI/CLI.hpp>

namespace mega::cli {

// Parses the command line, runs the command, and gives the status to end with. What goes wrong is said on
// standard error, after the program's name.
int run_program(CLI::App& app, int argc, char** argv);

}  // namespace mega::cli
