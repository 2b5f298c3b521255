// A picture as its file has it: colours, transparency and size are kept until a model's encoding decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/data/formats/grey_image.h"

namespace mega::data {

struct Picture {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;          // grey; grey, alpha; red, green, blue; or those and alpha
  std::vector<uint8_t> samples;  // row by row, the channels of a pixel together

  bool empty() const { return samples.empty(); }
};

// Sets the size and allocates the samples; a size of 0 or of more pixels than anyone needs is an Error.
void set_size(Picture& picture, int64_t height, int64_t width, int64_t channels, const std::string& name);

// The luma of a colour (ITU-R 601, rounded as Pillow does it).
constexpr uint8_t luma(uint8_t red, uint8_t green, uint8_t blue) {
  return static_cast<uint8_t>((19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16);
}

// Shades of grey: colours become luma, and what is transparent lies on white.
GreyImage to_grey(const Picture& picture);

}  // namespace mega::data
