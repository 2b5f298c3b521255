// Files of pictures, read as shades of grey.
#pragma once

#include <string>
#include <string_view>

#include "mega/data/formats/grey_image.h"

namespace mega::data {

// A PNG, JPEG, PGM or PPM file, known by its content. Colours become luma (ITU-R 601, rounded as Pillow does
// it), 16 bits become 8, and what is transparent lies on white. `name` is for messages. A damaged file, or
// one of more than 2^26 pixels, is an Error.
GreyImage decode_image(std::string_view bytes, const std::string& name);

// The luma of a colour.
constexpr uint8_t luma(uint8_t red, uint8_t green, uint8_t blue) {
  return static_cast<uint8_t>((19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16);
}

// The bytes of a PNG file.
std::string encode_png(const GreyImage& image);

}  // namespace mega::data
