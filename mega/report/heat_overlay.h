// Colours over a picture where it mattered.
#pragma once

#include <span>

#include "mega/report/thumbnail.h"

namespace mega {

// The picture in shades of grey, and over it, from yellow to red, the size of `weights`, one of each pixel,
// row by row: smoothed over 1/32 of the longer side, since single pixels say little, and scaled so that the
// largest one is wholly red. The picture has 1 or 3 channels.
Thumbnail heat_overlay(const Thumbnail& picture, std::span<const float> weights);

}  // namespace mega
