// The learning rate of each update.
#pragma once

#include <cstdint>

#include "mega/config/recipe/train_options.h"

namespace mega::train {

// Updates are counted from 0, as released: the first one has the initial rate.
double learning_rate(const TrainOptions& options, int64_t update);

}  // namespace mega::train
