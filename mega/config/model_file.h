// A model is one file: safetensors, with everything that says what the model is in its metadata.
//
//   format        version of this layout, a whole number
//   mega_version  version of the program that wrote it
//   options       ModelOptions as JSON, every field
//   ...           what the writer adds, e.g. the checksum of the training data
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mega/base/safetensors.h"
#include "mega/config/model_options.h"

namespace mega {

inline constexpr int64_t kModelFileFormat = 1;

// Metadata key of the training data's checksum, where a model has one.
inline constexpr const char* kDataChecksum = "data_checksum";

struct ModelFile {
  ModelOptions options;
  std::string mega_version;
  Safetensors tensors;  // mapped: weights are read when touched; holds the rest of the metadata too

  // The options as the file has them: those of an older version have fewer fields than `options` has today.
  const std::string& options_text() const;

  static ModelFile open(const std::filesystem::path& path);
  // The same from memory that outlives the result; `where` names it in error messages.
  static ModelFile parse(std::span<const std::byte> bytes, const std::string& where);
};

// `extra` goes into the metadata beside what the format needs, and must not replace that.
void write_model_file(const std::filesystem::path& path, const ModelOptions& options,
                      std::vector<TensorView> tensors, const Metadata& extra = {});

}  // namespace mega
