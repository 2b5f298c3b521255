// Files of pictures.
#pragma once

#include <string>
#include <string_view>

#include "mega/data/formats/picture.h"

namespace mega::data {

// A PNG, JPEG, PGM or PPM file, known by its content, with its colours; 16 bits become 8. `name` is for
// messages. A damaged file, or one of more than 2^26 pixels, is an Error.
Picture decode_image(std::string_view bytes, const std::string& name);

// The bytes of a PNG file.
std::string encode_png(const GreyImage& image);

}  // namespace mega::data
