// How far back the moving averages of a model in memory look.
#pragma once

#include <vector>

#include "mega/ops/torch.h"

namespace mega::models {

// Half lives in positions of every EMA component, layer by layer; empty for a model without moving averages.
std::vector<std::vector<double>> decay_spectrum(const torch::nn::Module& model);

}  // namespace mega::models
