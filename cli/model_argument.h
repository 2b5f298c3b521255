// A model argument on the command line: a model file, or a run directory that contains one.
#pragma once

#include <filesystem>
#include <string>

namespace mega::cli {

inline std::filesystem::path model_path(const std::string& argument) {
  return std::filesystem::is_directory(argument) ? std::filesystem::path(argument) / "model.safetensors"
                                                 : std::filesystem::path(argument);
}

}  // namespace mega::cli
