// Rows of csv in its dialects: between commas, semicolons, tabs or bars; quotes as in RFC 4180. A quote
// within a cell that does not begin with one is an ordinary character, and so is every single quote.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mega::data {

using Cells = std::vector<std::string>;

// More columns than this are a mistake, not a table.
inline constexpr size_t kMostColumns = 10'000;

// What data.delimiter says: one character, or its name (comma, semicolon, tab, bar, space); 0 where it is
// empty or "auto": to be found from the data. Anything else is an Error.
char parse_delimiter(std::string_view option);

// The delimiter of a file by its first lines: the one that makes most of them rows of the same width. Another
// one than the comma must also divide the first line and three of four lines like that. The comma where
// nothing speaks for another.
char find_delimiter(std::span<const std::string> lines);

// Whether quotes are open at the end of a line, given whether they are at its start.
bool quotes_open(std::string_view line, bool open, char delimiter);

// The cells of a row whose quotes are closed at its end. Gives what is wrong with it, or nothing.
std::string divide_csv(std::string_view row, char delimiter, Cells& cells);

}  // namespace mega::data
