// A small picture inside a page: PNG as a data URI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mega {

struct Thumbnail {
  static constexpr int64_t kLongestSide = 1 << 14;

  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 0;          // 1: grey; 2: grey, alpha; 3: red, green, blue; 4: those and alpha
  std::vector<uint8_t> samples;  // row by row, the channels of a pixel together

  // Whether it can be drawn: a size, and as many samples as it says.
  bool valid() const;
};

// The picture with neither side longer than `longest`: means of neighbouring pixels. Smaller ones are
// returned as they are.
Thumbnail shrunk(const Thumbnail& picture, int64_t longest);

std::string to_png(const Thumbnail& picture);

// "data:image/png;base64,..."
std::string to_data_uri(const Thumbnail& picture);

}  // namespace mega
