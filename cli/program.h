// Shared by the programs: startup, error reporting and the exit status.
#pragma once

#include <CLI/CLI.hpp>

namespace mega::cli {

// The exit status of the programs. Interrupted is what a shell says of a program that SIGINT ended.
enum ExitStatus { kDone = 0, kFailed = 1, kWrongUsage = 2, kInterrupted = 130 };

// Parses the command line, runs the command and returns the exit status. Errors are printed to standard error
// after the program's name. Without any argument, prints the help of the program.
int run_program(CLI::App& app, int argc, char** argv);

}  // namespace mega::cli
