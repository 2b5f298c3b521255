// Optional inputs of autograd functions: libtorch takes them as optionals, not as undefined tensors.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

using MaybeTensor = c10::optional<torch::Tensor>;

inline MaybeTensor maybe(const torch::Tensor& x) { return x.defined() ? MaybeTensor(x) : c10::nullopt; }
inline torch::Tensor tensor_of(const MaybeTensor& x) { return x.value_or(torch::Tensor()); }

}  // namespace mega::ops
