// Boxes of a random size and place: what a random resized crop keeps, and what random erasing fills.
#pragma once

#include <cstdint>
#include <optional>

#include "mega/base/random.h"
#include "mega/data/formats/picture.h"

namespace mega::data {

struct BoxRange {
  double min_area = 0, max_area = 1;    // shares of the picture's
  double min_ratio = 1, max_ratio = 1;  // of the box's sides
};

// One attempt: the share of the area, the logarithm of the ratio, and the place as shares of what is free.
struct BoxDraw {
  double area = 1, log_ratio = 0, top = 0, left = 0;
};
BoxDraw draw_box(const BoxRange& range, Random& draws);

// The box of an attempt, of ratio width : height; none where it is larger than the picture, or empty.
std::optional<Box> crop_box(int64_t height, int64_t width, const BoxDraw& draw);
// The central part where no attempt gave one: as much as the ratios allow.
Box central_crop(int64_t height, int64_t width, double min_ratio, double max_ratio);
// Ten attempts, or else the central part.
Box draw_crop(int64_t height, int64_t width, const BoxRange& range, Random& draws);

// The box of an attempt, of ratio height : width; none unless it is smaller than the picture both ways.
std::optional<Box> erase_box(int64_t height, int64_t width, const BoxDraw& draw);
// Ten attempts, or else nothing.
std::optional<Box> draw_erase(int64_t height, int64_t width, const BoxRange& range, Random& draws);

}  // namespace mega::data
