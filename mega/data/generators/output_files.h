// What generators write into.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "mega/base/error.h"

namespace mega::data {

// The most examples of a part that a generator is asked for; what they need is hashed, counted and added up.
inline constexpr int64_t kMostExamples = 1'000'000'000;

inline void require_possible(int64_t count, const char* what) {
  require(count >= 0 && count <= kMostExamples, count, " ", what, ": expected 0 to ", kMostExamples);
}

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
