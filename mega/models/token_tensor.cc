#include "mega/models/token_tensor.h"

namespace mega::models {

torch::Tensor token_tensor(std::span<const int32_t> tokens, torch::IntArrayRef shape) {
  return torch::from_blob(const_cast<int32_t*>(tokens.data()), shape, torch::kInt32).to(torch::kInt64);
}

}  // namespace mega::models
