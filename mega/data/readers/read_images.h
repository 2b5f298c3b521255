// What readers of picture files share, in folders and in archives.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mega/config/recipe/data_options.h"
#include "mega/data/record.h"

namespace mega::data {

inline constexpr size_t kLargestPictureFile = size_t{1} << 28;

// Which files of a folder or an archive are pictures; of what format each is, its content says.
inline const std::vector<std::string> kPictureExtensions = {".png", ".jpg", ".jpeg", ".webp",
                                                            ".pgm", ".ppm", ".pnm"};

// The record of a picture file's bytes, at `name`.
Record decoded_image(const std::string& bytes, const std::string& name, const DataOptions& options);

}  // namespace mega::data
