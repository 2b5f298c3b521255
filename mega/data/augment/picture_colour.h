// Changes to the colours of a picture, as Pillow makes them, to the bit. Pictures have 1 or 3 channels; what
// is said of a channel holds for each by itself.
#pragma once

#include <cstdint>

#include "mega/data/formats/picture.h"

namespace mega::data {

// The smallest value becomes 0, the largest 255.
void auto_contrast(Picture& picture);
// Values in equal numbers, as far as can be.
void equalize(Picture& picture);
void invert(Picture& picture);
// Keeps the highest `bits` of each value.
void posterize(Picture& picture, int bits);
// Inverts values from the threshold on.
void solarize(Picture& picture, int threshold);
// Adds to values below 128.
void solarize_add(Picture& picture, int add);

// 0: shades of grey; one grey, the mean; black; blurred. 1: the picture as it is. Between and beyond: on the
// line through both.
void change_saturation(Picture& picture, double factor);
void change_contrast(Picture& picture, double factor);
void change_brightness(Picture& picture, double factor);
void change_sharpness(Picture& picture, double factor);

}  // namespace mega::data
