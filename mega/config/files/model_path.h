// Where a model's file is.
#pragma once

#include <filesystem>

#include "mega/base/error.h"

namespace mega {

// A model file, or the one in a run directory of `mega train`. Error if the directory has none.
inline std::filesystem::path model_path(const std::filesystem::path& file_or_run) {
  std::error_code ignored;  // opening the file will say what is wrong
  if (!std::filesystem::is_directory(file_or_run, ignored)) return file_or_run;
  std::filesystem::path file = file_or_run / "model.safetensors";
  require(std::filesystem::exists(file, ignored), file_or_run.string(),
          ": no model.safetensors in this folder: expected a model file, or a finished run of `mega train`");
  return file;
}

}  // namespace mega
