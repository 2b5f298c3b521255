// All options of a recipe, as `mega train --options` lists them.
#pragma once

#include <cstdint>
#include <string>

#include "mega/config/recipe/presets.h"

namespace mega::cli {

// Every option whose key or meaning has `filter` in it, whatever the case, with its value in this recipe and,
// where it differs, its default. At most `width` columns. Error if there is none.
std::string option_list(const Recipe& recipe, const std::string& filter, int64_t width);

}  // namespace mega::cli
