// A model is one file: safetensors, with everything that says what the model is in its metadata.
//
//   format        version of this layout, a whole number
//   mega_version  version of the program that wrote it
//   options       ModelOptions as JSON, every field
//   checksum      of everything but the tensors' contents, and of everything: 16 hexadecimal digits, -, 16
//   more;
//                 files of earlier versions have none
//   ...           what the writer adds, e.g. the checksum of the training data
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mega/base/files/safetensors.h"
#include "mega/config/model_options.h"

namespace mega {

inline constexpr int64_t kModelFileFormat = 1;

// Metadata key of the training data's checksum, where a model has one.
inline constexpr const char* kDataChecksum = "data_checksum";

// The name of the scales of a matrix of I8 (mega/infer/quantize.h): one for each of its rows.
inline std::string scale_name(const std::string& matrix) { return matrix + "_scale"; }

struct ModelFile {
  std::string where;  // names it in error messages
  ModelOptions options;
  std::string mega_version;
  Safetensors tensors;  // mapped: weights are read when touched; holds the rest of the metadata too

  // The options as the file has them: those of an older version have fewer fields than `options` has today.
  const std::string& options_text() const;

  // A file that does not match its checksum is an Error. Of one with more than kVerifiedAtOnce bytes of
  // tensors, their contents are left to verify(): a large model must not be read twice before its first
  // answer.
  static ModelFile open(const std::filesystem::path& path);
  // The same from memory that outlives the result; `where` names it in error messages.
  static ModelFile parse(std::span<const std::byte> bytes, const std::string& where);

  bool has_checksum() const;
  // Error unless everything in the file is as it was written; a file without a checksum passes. Reads all of
  // it, at some 4 GB a second.
  void verify() const;

  static constexpr int64_t kVerifiedAtOnce = int64_t{256} << 20;
};

// Throws unless the file has every tensor of the model in its shape and no others: options are easily
// written, weights are not, and a few bytes of options must not ask for a terabyte.
void check_tensors(const ModelOptions& options, const Safetensors& file);
// Its second half alone: throws where the file has tensors that such a model does not have.
void check_surplus(const ModelOptions& options, const Safetensors& file);

// Writes the file with its checksum, which replaces that of other contents.
void write_with_checksum(const std::filesystem::path& path, std::vector<TensorView> tensors,
                         Metadata metadata);

// `extra` goes into the metadata beside what the format needs, and must not replace that.
void write_model_file(const std::filesystem::path& path, const ModelOptions& options,
                      std::vector<TensorView> tensors, const Metadata& extra = {});

}  // namespace mega
