// Token numbers as a tensor.
#pragma once

#include <cstdint>
#include <span>

#include "mega/ops/torch.h"

namespace mega::models {

// The one place where tokens, which are int32 everywhere else, become int64: libtorch takes no other indices.
torch::Tensor token_tensor(std::span<const int32_t> tokens, torch::IntArrayRef shape);

}  // namespace mega::models
