// The way a camera was held, from the EXIF data of a picture file.
#pragma once

#include <string_view>

#include "mega/data/formats/picture.h"

namespace mega::data {

// 1 to 8 as EXIF 2.3 has it: how rows and columns of the file lie in the picture; 1, as they are, where the
// data has no such tag or is damaged. `exif`: a TIFF header and its directories, also after "Exif\0\0".
int exif_orientation(std::string_view exif);

// The picture as it is to be seen.
Picture upright(Picture picture, int orientation);

}  // namespace mega::data
