// Files of pictures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mega/data/formats/picture.h"

namespace mega::data {

struct DecodeOptions {
  // JPEG: scaled to 1/2, 1/4 or 1/8 while it is decoded, as long as its shorter side keeps so many pixels.
  // The decoder then averages blocks of pixels, so that a picture scaled further differs from one of the
  // whole file by some grey levels. 0: never, which is exact.
  int64_t jpeg_side = 0;
};

// A PNG, JPEG, WebP, PGM or PPM file, known by its content, with its colours, the way up that its EXIF data
// says; 16 bits become 8, CMYK red, green and blue, and of a film the first picture is read. `name` is for
// messages. A damaged file, or one of more than kMostPixels, is an Error.
Picture decode_image(std::string_view bytes, const std::string& name, const DecodeOptions& options = {});

// The bytes of a PNG file.
std::string encode_png(const GreyImage& image);

struct JpegOptions {
  int quality = 95;  // 1 to 100
  bool progressive = false;
};
// The bytes of a JPEG file. 1 channel: grey; 3: red, green and blue; 4: inks, inverted as Adobe writes them.
std::string encode_jpeg(const Picture& picture, const JpegOptions& options = {});

}  // namespace mega::data
