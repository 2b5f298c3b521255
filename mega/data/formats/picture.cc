#include "mega/data/formats/picture.h"

#include <algorithm>

#include "mega/base/error.h"

namespace mega::data {
namespace {

uint8_t on_white(int sample, int alpha) {
  return static_cast<uint8_t>((sample * alpha + 255 * (255 - alpha) + 127) / 255);
}

}  // namespace

void check_size(int64_t height, int64_t width, const std::string& name) {
  require(height > 0 && width > 0, name, ": a picture of ", height, " by ", width, " pixels");
  require(std::max(height, width) <= kLongestSide, name, ": a picture of ", height, " by ", width,
          " pixels has a side of more than the ", kLongestSide, " that are read; reduce it");
  require(height <= kMostPixels / width, name, ": a picture of ", height, " by ", width,
          " pixels is larger than the ", kMostPixels, " that are read; reduce it");
}

void set_size(Picture& picture, int64_t height, int64_t width, int64_t channels, const std::string& name) {
  check_size(height, width, name);
  picture = Picture(height, width, channels);
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

Picture with_channels(const Picture& picture, int64_t channels) {
  require(channels == 1 || channels == 3, "a picture of ", channels, " channels; expected 1 or 3");
  if (picture.channels == channels) return picture;
  Picture changed(picture.height, picture.width, channels);
  if (channels == 1) {
    changed.samples = to_grey(picture).pixels;
    return changed;
  }
  const uint8_t* from = picture.samples.data();
  for (size_t i = 0; i < changed.samples.size(); i += 3, from += picture.channels)
    for (size_t c = 0; c < 3; ++c) {
      const uint8_t sample = picture.channels < 3 ? from[0] : from[c];
      changed.samples[i + c] =
          picture.channels % 2 == 0 ? on_white(sample, from[picture.channels - 1]) : sample;
    }
  return changed;
}

}  // namespace mega::data
