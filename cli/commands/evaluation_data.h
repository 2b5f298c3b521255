// The data that `mega eval` evaluates a model on.
#pragma once

#include <string>

#include "mega/config/recipe/data_options.h"

namespace mega::cli {

// The data the model was trained on, with its splits; or, if `path` is other data, all of it as test data.
DataOptions evaluation_data(const DataOptions& trained_on, const std::string& path);

}  // namespace mega::cli
