// A hash of tensors, to identify them and to detect damage.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/files/safetensors.h"

namespace mega {

// Hashes names, types, shapes and contents (mega/base/hash.h), independent of the order.
uint64_t hash_tensors(std::vector<TensorView> tensors, uint64_t seed = 0);

// The metadata key of a file's own checksum.
inline constexpr const char* kChecksumKey = "checksum";

// Hashes a file: its metadata, except for the checksum itself, and its tensors.
uint64_t hash_file(const Metadata& metadata, std::vector<TensorView> tensors);

}  // namespace mega
