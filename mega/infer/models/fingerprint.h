// What tells one model from another.
#pragma once

#include <cstdint>

#include "mega/config/model_file.h"

namespace mega::infer {

// Of a model's options and tensors, whatever their order in the file and who wrote it. Reads the whole file.
uint64_t fingerprint(const ModelFile& file);

}  // namespace mega::infer
