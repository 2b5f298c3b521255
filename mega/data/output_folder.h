// The folder a generator writes into.
#pragma once

#include <filesystem>
#include <system_error>

#include "mega/base/error.h"

namespace mega::data {

// Creates the folder and those around it; that it exists already is fine.
inline void create_folder(const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  require(!code, folder.string(), ": cannot create this folder: ", code.message());
}

}  // namespace mega::data
