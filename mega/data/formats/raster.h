// What decoders of picture files give: samples as the file has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mega::data {

struct Raster {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;          // grey; grey, alpha; red, green, blue; or those and alpha
  std::vector<uint8_t> samples;  // row by row, the channels of a pixel together
};

// Sets the size and makes room; a size of 0 or of more pixels than anyone needs is an Error.
void set_size(Raster& raster, int64_t height, int64_t width, int64_t channels, const std::string& name);

Raster decode_png(std::string_view bytes, const std::string& name);
Raster decode_jpeg(std::string_view bytes, const std::string& name);
Raster decode_pnm(std::string_view bytes, const std::string& name);

}  // namespace mega::data
