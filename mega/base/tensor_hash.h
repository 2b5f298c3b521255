// What tells tensors from others, and damaged ones from whole ones.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/safetensors.h"

namespace mega {

// Of names, types, shapes and contents (mega/base/hash.h), whatever the order.
uint64_t hash_tensors(std::vector<TensorView> tensors, uint64_t seed = 0);

}  // namespace mega
