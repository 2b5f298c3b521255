// Identifies a model.
#pragma once

#include <cstdint>

#include "mega/config/files/model_file.h"

namespace mega::infer {

// Of the model's options as the file has them, and of its tensors, whatever their order. An option that a
// later version adds does not change it: states that were saved with the model stay usable. Reads the whole
// file.
uint64_t fingerprint(const ModelFile& file);

}  // namespace mega::infer
