// libtorch tensors in and out of safetensors files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mega/base/safetensors.h"
#include "mega/ops/torch.h"

namespace mega::ops {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// A copy that owns its memory.
torch::Tensor to_tensor(const TensorView& view);

void save_tensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata = {});

}  // namespace mega::ops
