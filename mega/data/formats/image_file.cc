#include "mega/data/formats/image_file.h"

#include "mega/base/error.h"
#include "mega/data/formats/picture_decoders.h"

namespace mega::data {

Picture decode_image(std::string_view bytes, const std::string& name) {
  require(!bytes.empty(), name, ": the file is empty");
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(bytes, name);
  if (bytes.starts_with("\xff\xd8")) return decode_jpeg(bytes, name);
  for (const char* start : {"P2", "P3", "P5", "P6"}) {
    if (bytes.starts_with(start)) return decode_pnm(bytes, name);
  }
  fail(name, ": not a PNG, JPEG, PGM or PPM file");
}

}  // namespace mega::data
