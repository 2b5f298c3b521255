// Tensors of libtorch as a safetensors file.
#pragma once

#include <filesystem>

#include "mega/ops/tensor_file.h"

namespace mega::testing {

inline void save_tensors(const std::filesystem::path& path, const ops::NamedTensors& tensors) {
  write_safetensors(path, ops::TensorViews(tensors).views(), {});
}

}  // namespace mega::testing
