// A model on the command line: its file, or the run directory that holds it.
#pragma once

#include <filesystem>
#include <string>

namespace mega::cli {

inline std::filesystem::path model_path(const std::string& argument) {
  return std::filesystem::is_directory(argument) ? std::filesystem::path(argument) / "model.safetensors"
                                                 : std::filesystem::path(argument);
}

}  // namespace mega::cli
