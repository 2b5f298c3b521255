// What generators write into.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "mega/base/error.h"

namespace mega::data {

// Creates the folder and those around it; that it exists already is fine.
inline void create_folder(const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  require(!code, folder.string(), ": cannot create this folder: ", code.message());
}

// Writes a file that nobody reads before another one names it: without the care, and the cost, of AtomicFile.
inline void write_plain_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  require(!file.fail(), path.string(), ": cannot be written");
}

}  // namespace mega::data
