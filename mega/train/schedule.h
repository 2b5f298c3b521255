// The learning rate of each update.
#pragma once

#include <cstdint>

#include "mega/config/recipe/train_options.h"

namespace mega::train {

// Update k, counted from 1, uses step = k - 1 as released: the first update has the initial rate.
double learning_rate(const TrainOptions& options, int64_t step);

}  // namespace mega::train
