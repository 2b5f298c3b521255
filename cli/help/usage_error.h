// What the user is told of a wrong command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace mega::cli {

// The innermost command that was given.
const CLI::App& given_command(const CLI::App& app);

// One message: what is wrong, the nearest known word to an unknown one, and how to get help.
std::string usage_error_text(const CLI::App& app, const CLI::Error& error);

// For a command line that asks for a command which `app` does not have.
std::string unknown_command_text(const CLI::App& app, const std::string& word);

}  // namespace mega::cli
