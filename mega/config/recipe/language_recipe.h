// What a recipe says of the running text that a language model trains on.
#pragma once

#include "mega/config/recipe/presets.h"

namespace mega {

// Throws unless the recipe reads running text.
const LanguageInput& language_input(const Recipe& recipe);

// The training blocks of the recipe, with the chunk size that they are multiples of.
BlockPlan block_plan(const Recipe& recipe);

}  // namespace mega
