// `mega data check` for translators.
#pragma once

#include "mega/config/recipe/presets.h"

namespace mega::cli {

// Prints parts, lengths, what was left out and what looks wrong of the recipe's parallel text. Error where
// training on it would stop.
void check_parallel_text(Recipe recipe, bool json);

}  // namespace mega::cli
