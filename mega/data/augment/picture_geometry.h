// Pictures mirrored, sheared, moved and turned, as Pillow does it, to the bit.
#pragma once

#include <array>
#include <cstdint>

#include "mega/data/formats/picture.h"

namespace mega::data {

// What stands where a picture moved away: red, green and blue, or the first alone for shades of grey.
using Fill = std::array<uint8_t, 3>;

// Output pixel (x, y) reads its source at (a x + b y + c, d x + e y + f), with centres of pixels at halves.
struct Affine {
  double a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;
};

// A picture of 1 or 3 channels; the cubic of a = -1 through 4 by 4 pixels, unlike the one that resizes.
Picture transformed(const Picture& picture, const Affine& map, const Fill& fill);

Affine shear_x(double factor);
Affine shear_y(double factor);
// Positive: content moves to the left, or up. In pixels.
Affine translate_x(double pixels);
Affine translate_y(double pixels);
// Counter-clockwise about the centre.
Affine rotation(double degrees, int64_t height, int64_t width);

// Left becomes right.
void flip(Picture& picture);

}  // namespace mega::data
