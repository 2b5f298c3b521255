// How many parameters a model has that is in memory.
#pragma once

#include "mega/config/parameter_count.h"
#include "mega/ops/torch.h"

namespace mega::models {

ParameterCount count_parameters(const torch::nn::Module& model);

}  // namespace mega::models
