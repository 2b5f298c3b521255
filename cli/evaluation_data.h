// What `mega eval` evaluates a model on.
#pragma once

#include <string>

#include "mega/config/data_options.h"

namespace mega::cli {

// What it was trained on, or all of another `path`, of which it has seen nothing.
DataOptions evaluation_data(const DataOptions& trained_on, const std::string& path);

}  // namespace mega::cli
