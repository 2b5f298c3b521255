// Sequences of which every process of a run reads a piece (train.processes.share = sequences).
#pragma once

#include <cstdint>

#include "mega/config/recipe/presets.h"

namespace mega {

// What the pieces are multiples of: the chunks of attention, or with full attention any position. 0:
// processes share the examples. An Error where the model or the recipe needs whole sequences.
int64_t piece_unit(const Recipe& recipe);

}  // namespace mega
