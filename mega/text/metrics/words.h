// Words of a sentence as Python's str.split() finds them: sacreBLEU's metrics are defined in its terms.
#pragma once

#include <string_view>
#include <vector>

namespace mega {

// White space of Unicode, and four control characters (the separators U+001C to U+001F).
bool is_python_space(char32_t point);

// Without the space between them; views of the text.
std::vector<std::string_view> split_words(std::string_view text);

// Only ASCII's white space separates words, as for a program that reads bytes.
std::vector<std::string_view> split_ascii_words(std::string_view text);
bool is_ascii_space(char c);

}  // namespace mega
