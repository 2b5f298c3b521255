// How many parameters a model has, in all and by part, and how its file keeps them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "mega/config/files/model_file.h"

namespace mega {

struct ParameterCount {
  int64_t total = 0;
  std::map<std::string, int64_t> parts;  // by names of ModelPart
};

ParameterCount count_parameters(const ModelOptions& options);

// Bytes of each part by type, with buffers and scales, and of the vocabulary and other input statistics as
// the part "input".
std::map<std::string, std::map<DType, int64_t>> stored_bytes(const ModelFile& file);

}  // namespace mega
