#include "mega/models/parameter_count.h"

namespace mega::models {

ParameterCount count_parameters(const torch::nn::Module& model) {
  ParameterCount count;
  for (const auto& item : model.named_parameters()) count.add(item.key(), item.value().numel());
  return count;
}

}  // namespace mega::models
