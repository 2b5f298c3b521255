// A model on the command line: its file, or the run directory that holds it.
#pragma once

#include <filesystem>
#include <string>

#include "mega/train/saved_model.h"

namespace mega::cli {

inline std::filesystem::path model_path(const std::string& argument) {
  return std::filesystem::is_directory(argument) ? std::filesystem::path(argument) / "model.safetensors"
                                                 : std::filesystem::path(argument);
}

// Reads the options alone, not the weights.
bool is_language_model(const std::string& argument);

// Where the model is of the other kind, these name the commands that it is for. `chunk` as in
// train::load_language_model.
train::SavedModel load_sequence_model(const std::string& argument);
train::SavedLanguageModel load_language_model(const std::string& argument, int64_t chunk = 0);

// What a model is evaluated on: what it was trained on, or all of another `path`, of which it has seen
// nothing.
DataOptions evaluation_data(const DataOptions& trained_on, const std::string& path);

}  // namespace mega::cli
