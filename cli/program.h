// Shared by the programs `mega` and `mega-run`: startup and error reporting.
#pragma once

#include <CLI/CLI.hpp>

namespace mega::cli {

// Parses the command line, runs the command and returns the exit status. Errors are printed to standard error
// after the program's name.
int run_program(CLI::App& app, int argc, char** argv);

}  // namespace mega::cli
