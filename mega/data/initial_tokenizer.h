// A model that goes on learning keeps its tokens: their numbers mean nothing to another vocabulary.
#pragma once

#include <memory>

#include "mega/config/recipe/presets.h"
#include "mega/text/tokenizer.h"

namespace mega::data {

// The tokenizer of the model that training starts from (train.init); null for a run that begins anew. Error
// where that model's units are not those of the recipe, which reads text.
std::shared_ptr<const Tokenizer> initial_tokenizer(const Recipe& recipe);

// Whether that model cuts texts into the same units.
bool starts_from_same_units(const Recipe& recipe);

}  // namespace mega::data
