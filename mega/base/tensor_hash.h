// A hash of tensors, to identify them and to detect damage.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/safetensors.h"

namespace mega {

// Hashes names, types, shapes and contents (mega/base/hash.h), independent of the order.
uint64_t hash_tensors(std::vector<TensorView> tensors, uint64_t seed = 0);

}  // namespace mega
