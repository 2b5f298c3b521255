// A model of pictures that is to read another size of them than in training.
#pragma once

#include <cstdint>

#include "mega/config/model_options.h"
#include "mega/config/recipe/input_options.h"

namespace mega {

struct PictureSize {
  int64_t height = 0, width = 0;
};

// Changes what the model is and what it reads; its learned positions are for resized_positions. Error where
// it reads something else.
void set_picture_size(ModelOptions& options, InputOptions& input, PictureSize size);

}  // namespace mega
