// Standard input, output and error, any of which may be closed or full.
#pragma once

#include <string>

namespace mega::cli {

// Takes the place of those that are closed. Otherwise a file that is opened next would get the descriptor,
// and what is printed for the user would go into it. Reading and writing still fail.
void hold_standard_streams();

// What is left of the output is written. Why it could not be, or "" if all of it was.
std::string output_trouble();

}  // namespace mega::cli
