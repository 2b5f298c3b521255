// The width of what people read: terminals, and text that is broken to fit them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace mega {

// A process that is one of several of a run, and not the one that speaks for it: from now on, progress and
// notes are not printed. Errors are.
void be_quiet();
bool is_quiet();

// Columns of the terminal; where `file` is none, what the variable COLUMNS says, or else 80.
int64_t terminal_width(std::FILE* file);

bool is_terminal(std::FILE* file);

// The longest prefix of whole characters that is at most `width` columns wide.
std::string_view prefix_of_width(std::string_view text, int64_t width);

// The lines of the text, of at most `width` columns each: broken at spaces, and within a word only where that
// is longer than a line. Line breaks of the text are kept. Always at least one line.
std::vector<std::string> wrap(std::string_view text, int64_t width);

// The line as it is or, if `file` is a terminal that is too narrow for it, as several, those after the first
// indented.
std::string for_terminal(const std::string& line, std::FILE* file, int64_t indent);

}  // namespace mega
