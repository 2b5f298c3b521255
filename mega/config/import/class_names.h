// What the outputs of an imported classifier are called.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mega {

// "0", "1", ...: what can be said of classes without their names.
std::vector<std::string> numbers_as_names(int64_t count);

// The lines of a file: a name for each of so many classes, in the order of the outputs.
std::vector<std::string> read_class_names(const std::filesystem::path& path, int64_t count);

}  // namespace mega
