// Pictures in another size, by the separable filters that Pillow has under these names.
#pragma once

#include "mega/data/formats/grey_image.h"

namespace mega::data {

// bilinear: averages with a triangle of two output pixels where it reduces, interpolates where it enlarges.
// lanczos: sharper, of three lobes; overshoots beside edges.
enum class Filter { bilinear, lanczos };

// All arithmetic on pixels is on whole numbers: the same on every platform.
GreyImage resampled(const GreyImage& image, int64_t height, int64_t width, Filter filter);

}  // namespace mega::data
