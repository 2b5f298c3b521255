#include "mega/data/formats/picture.h"

#include "mega/base/error.h"

namespace mega::data {
namespace {

uint8_t on_white(int grey, int alpha) {
  return static_cast<uint8_t>((grey * alpha + 255 * (255 - alpha) + 127) / 255);
}

}  // namespace

void set_size(Picture& picture, int64_t height, int64_t width, int64_t channels, const std::string& name) {
  constexpr int64_t kMostPixels = int64_t{1} << 26;
  require(height > 0 && width > 0, name, ": a picture of ", height, " by ", width, " pixels");
  require(height <= kMostPixels / width, name, ": a picture of ", height, " by ", width,
          " pixels is larger than the ", kMostPixels, " that are read; reduce it");
  picture.height = height;
  picture.width = width;
  picture.channels = channels;
  picture.samples.resize(static_cast<size_t>(height * width * channels));
}

GreyImage to_grey(const Picture& picture) {
  GreyImage image(picture.height, picture.width);
  const uint8_t* sample = picture.samples.data();
  for (uint8_t& pixel : image.pixels) {
    pixel = picture.channels < 3 ? sample[0] : luma(sample[0], sample[1], sample[2]);
    if (picture.channels % 2 == 0) pixel = on_white(pixel, sample[picture.channels - 1]);
    sample += picture.channels;
  }
  return image;
}

}  // namespace mega::data
