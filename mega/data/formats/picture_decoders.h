// One decoder per format of picture files; image_file.h chooses between them.
#pragma once

#include <string>
#include <string_view>

#include "mega/data/formats/image_file.h"
#include "mega/data/formats/picture.h"

namespace mega::data {

Picture decode_png(std::string_view bytes, const std::string& name);
Picture decode_jpeg(std::string_view bytes, const std::string& name, const DecodeOptions& options);
Picture decode_webp(std::string_view bytes, const std::string& name);
Picture decode_pnm(std::string_view bytes, const std::string& name);

}  // namespace mega::data
