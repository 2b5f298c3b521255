// Pictures in another size, by the separable filters that Pillow has under these names, to the bit.
#pragma once

#include "mega/data/formats/grey_image.h"
#include "mega/data/formats/picture.h"

namespace mega::data {

// bilinear: averages with a triangle of two output pixels where it reduces, interpolates where it enlarges.
// bicubic: sharper, the cubic of a = -1/2 (Keys 1981). lanczos: sharper still, of three lobes. Both overshoot
// beside edges.
enum class Filter { bilinear, bicubic, lanczos };

// All arithmetic on pixels is on whole numbers: the same on every platform.
GreyImage resampled(const GreyImage& image, int64_t height, int64_t width, Filter filter);
Picture resampled(const Picture& picture, int64_t height, int64_t width, Filter filter);

// What to make of a picture: `part` of it is scaled to height by width, and of that `window` is kept.
struct Resampling {
  Box part;
  int64_t height = 0, width = 0;
  Box window;
  Filter filter = Filter::bilinear;
};

// Takes memory for the window and for the rows that it depends on, however large height and width are.
Picture resampled(const Picture& picture, const Resampling& wanted);

}  // namespace mega::data
