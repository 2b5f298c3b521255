// The memory span of the moving averages of an in-memory model.
#pragma once

#include <vector>

#include "mega/ops/torch.h"

namespace mega::models {

// Half-lives in positions of every EMA component, per layer; empty for a model without moving averages.
std::vector<std::vector<double>> decay_spectrum(const torch::nn::Module& model);

}  // namespace mega::models
