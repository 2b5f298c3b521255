// A picture as its file has it: colours, transparency and size are kept until a model's encoding decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mega/data/formats/grey_image.h"

namespace mega::data {

struct Picture {
  Picture() = default;
  // Black.
  Picture(int64_t rows, int64_t columns, int64_t colours)
      : height(rows),
        width(columns),
        channels(colours),
        samples(static_cast<size_t>(rows * columns * colours)) {}

  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;          // grey; grey, alpha; red, green, blue; or those and alpha
  std::vector<uint8_t> samples;  // row by row, the channels of a pixel together

  bool empty() const { return samples.empty(); }
  const uint8_t* row(int64_t y) const { return samples.data() + y * width * channels; }
  uint8_t* row(int64_t y) { return samples.data() + y * width * channels; }
};

// A part of a picture.
struct Box {
  int64_t top = 0, left = 0, height = 0, width = 0;

  bool operator==(const Box&) const = default;
};

// Most pixels of a picture that is read, 100 megapixels, in colours 300 MB; and of one of its sides.
inline constexpr int64_t kMostPixels = 100'000'000, kLongestSide = 1'000'000;

// An Error where a side is 0, or the size is beyond these limits.
void check_size(int64_t height, int64_t width, const std::string& name);

// Checks the size, sets it, and allocates the samples.
void set_size(Picture& picture, int64_t height, int64_t width, int64_t channels, const std::string& name);

// The luma of a colour (ITU-R 601, rounded as Pillow does it).
constexpr uint8_t luma(uint8_t red, uint8_t green, uint8_t blue) {
  return static_cast<uint8_t>((19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16);
}

// Shades of grey: colours become luma, and what is transparent lies on white.
GreyImage to_grey(const Picture& picture);

// With 1 channel, as to_grey, or with 3: red, green and blue, equal where the picture has no colours.
Picture with_channels(const Picture& picture, int64_t channels);

}  // namespace mega::data
