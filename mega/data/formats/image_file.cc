#include "mega/data/formats/image_file.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/data/formats/picture_decoders.h"

namespace mega::data {

Picture decode_image(std::string_view bytes, const std::string& name, const DecodeOptions& options) {
  require(!bytes.empty(), name, ": the file is empty");
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(bytes, name);
  if (bytes.starts_with("\xff\xd8")) return decode_jpeg(bytes, name, options);
  if (bytes.starts_with("RIFF") && bytes.substr(std::min<size_t>(8, bytes.size())).starts_with("WEBP"))
    return decode_webp(bytes, name);
  for (const char* start : {"P2", "P3", "P5", "P6"}) {
    if (bytes.starts_with(start)) return decode_pnm(bytes, name);
  }
  fail(name, ": not a PNG, JPEG, WebP, PGM or PPM file");
}

}  // namespace mega::data
