// How many parameters a model has, in all and by part.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "mega/ops/torch.h"

namespace mega::models {

// Parts: embedding, ema, attention, positions, norms, feed-forward, head.
struct ParameterCount {
  int64_t total = 0;
  std::map<std::string, int64_t> parts;
};
ParameterCount count_parameters(const torch::nn::Module& model);

}  // namespace mega::models
