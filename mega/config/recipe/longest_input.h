// The longest sequence that a recipe reads.
#pragma once

#include <cstdint>

#include "mega/config/recipe/input_options.h"

namespace mega {

// Most positions of an input (of a picture, its pixels); 0: no limit.
int64_t longest_input(const InputOptions& options);

}  // namespace mega
