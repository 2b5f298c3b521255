// Standard input as a file, for texts that are read several times.
#pragma once

#include <filesystem>

namespace mega::data {

// A copy of standard input in the folder, under the name of its content.
std::filesystem::path copy_standard_input(const std::filesystem::path& folder);

}  // namespace mega::data
