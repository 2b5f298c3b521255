#include "mega/data/formats/image_file.h"

#include "mega/base/error.h"
#include "mega/data/formats/raster.h"

namespace mega::data {
namespace {

Raster decode(std::string_view bytes, const std::string& name) {
  require(!bytes.empty(), name, ": the file is empty");
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(bytes, name);
  if (bytes.starts_with("\xff\xd8")) return decode_jpeg(bytes, name);
  for (const char* start : {"P2", "P3", "P5", "P6"}) {
    if (bytes.starts_with(start)) return decode_pnm(bytes, name);
  }
  fail(name, ": not a PNG, JPEG, PGM or PPM file");
}

uint8_t on_white(int grey, int alpha) {
  return static_cast<uint8_t>((grey * alpha + 255 * (255 - alpha) + 127) / 255);
}

}  // namespace

void set_size(Raster& raster, int64_t height, int64_t width, int64_t channels, const std::string& name) {
  constexpr int64_t kMostPixels = int64_t{1} << 26;
  require(height > 0 && width > 0, name, ": a picture of ", height, " by ", width, " pixels");
  require(height <= kMostPixels / width, name, ": a picture of ", height, " by ", width,
          " pixels is larger than the ", kMostPixels, " that are read; reduce it");
  raster.height = height;
  raster.width = width;
  raster.channels = channels;
  raster.samples.resize(static_cast<size_t>(height * width * channels));
}

GreyImage decode_image(std::string_view bytes, const std::string& name) {
  const Raster raster = decode(bytes, name);
  GreyImage image(raster.height, raster.width);
  const uint8_t* sample = raster.samples.data();
  for (uint8_t& pixel : image.pixels) {
    pixel = raster.channels < 3 ? sample[0] : luma(sample[0], sample[1], sample[2]);
    if (raster.channels % 2 == 0) pixel = on_white(pixel, sample[raster.channels - 1]);
    sample += raster.channels;
  }
  return image;
}

}  // namespace mega::data
