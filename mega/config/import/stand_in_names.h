// What the classes and tokens of an imported model are called, which its file may not say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mega {

// "0", "1", ...: what can be said of classes without their names.
std::vector<std::string> numbers_as_names(int64_t count);

// "4", "5", ...: the vocabulary of words for tokens whose dictionary is not known, one per line; the numbers
// before are those of specials.
std::string numbers_as_words(int64_t types);

// The lines of a file: a name for each of so many classes, in the order of the outputs.
std::vector<std::string> read_class_names(const std::filesystem::path& path, int64_t count);

}  // namespace mega
