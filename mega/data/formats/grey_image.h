// A picture in shades of grey, 0 is black.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mega::data {

struct GreyImage {
  GreyImage() = default;
  GreyImage(int64_t rows, int64_t columns)
      : height(rows), width(columns), pixels(static_cast<size_t>(rows * columns)) {}

  uint8_t& at(int64_t y, int64_t x) { return pixels[static_cast<size_t>(y * width + x)]; }
  uint8_t at(int64_t y, int64_t x) const { return pixels[static_cast<size_t>(y * width + x)]; }
  bool contains(int64_t y, int64_t x) const { return y >= 0 && y < height && x >= 0 && x < width; }

  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> pixels;  // row by row
};

}  // namespace mega::data
