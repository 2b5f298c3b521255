// Letters of 5 by 8 pixels, for captions inside pictures.
#pragma once

#include <cstdint>
#include <string_view>

#include "mega/report/thumbnail.h"

namespace mega {

inline constexpr int64_t kLetterWidth = 6, kLetterHeight = 9;  // with the space around a letter

// Writes printable ASCII into a picture of 3 channels, from its upper left corner at (top, left) on, in one
// grey; a character of any other kind is a box. What does not fit is left out.
void write_pixels(Thumbnail& picture, int64_t top, int64_t left, std::string_view text, uint8_t grey);

}  // namespace mega
