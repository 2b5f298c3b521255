// Identifies a model.
#pragma once

#include <cstdint>

#include "mega/config/model_file.h"

namespace mega::infer {

// A hash of the model's options and tensors, independent of their order in the file and its writer. Reads the
// whole file.
uint64_t fingerprint(const ModelFile& file);

}  // namespace mega::infer
