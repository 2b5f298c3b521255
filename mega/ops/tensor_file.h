// Converts libtorch tensors from and to safetensors files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mega/base/files/safetensors.h"
#include "mega/ops/torch.h"

namespace mega::ops {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// A copy that owns its memory.
torch::Tensor to_tensor(const TensorView& view);

// Views of tensors in file layout: contiguous, on the CPU, kept alive by this object.
class TensorViews {
 public:
  explicit TensorViews(const NamedTensors& tensors);
  const std::vector<TensorView>& views() const { return views_; }

 private:
  std::vector<torch::Tensor> keep_;
  std::vector<TensorView> views_;
};

}  // namespace mega::ops
