// What can be said in a dialogue to the program instead of the model.
#pragma once

#include <string>
#include <string_view>

namespace mega::cli {

class Dialogue;

// Whether the line is a command: it begins with a slash, and not with two, which stand for one in a text.
bool is_command(std::string_view line);

// The text that a line stands for that is not a command.
std::string without_escape(std::string_view line);

// Runs a command and says on standard error what it did. False: it ends the dialogue. Error for an unknown
// command, with the nearest known one, and for one that fails.
bool run_command(Dialogue& dialogue, std::string_view line);

}  // namespace mega::cli
