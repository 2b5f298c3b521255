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

// Views of tensors as files have them: dense, on the CPU, kept alive by this object.
class TensorViews {
 public:
  explicit TensorViews(const NamedTensors& tensors);
  const std::vector<TensorView>& views() const { return views_; }

 private:
  std::vector<torch::Tensor> keep_;
  std::vector<TensorView> views_;
};

}  // namespace mega::ops
