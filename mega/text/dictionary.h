// fairseq's dictionaries (dict.txt): on each line a symbol, a blank and its count, in the order of the
// symbols' numbers, which begin behind the specials.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mega {

// <s>, <pad>, </s> or <unk>, which have numbers without standing in a dictionary.
bool is_special_name(std::string_view symbol);

// Error unless it can be a symbol: UTF-8 without blanks, and no special. `where` and `line` say where it
// stood.
void check_symbol(std::string_view symbol, const std::string& where, size_t line);

// Whether fairseq wrote the symbol to fill a dictionary up to a multiple of eight.
bool is_filling(std::string_view symbol);

// The symbols of a vocabulary, each of which ends with a newline.
std::vector<std::string> lines_of(std::string_view vocabulary);

// The symbols of a dictionary file, one per line.
std::string read_dictionary(const std::string& path);

}  // namespace mega
