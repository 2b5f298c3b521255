#include "mega/data/generators/pathfinder_options.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"

namespace mega::data {

PathfinderOptions pathfinder_options(int64_t size, int64_t contour_length) {
  PathfinderOptions options;
  options.size = size;
  options.contour_length = contour_length;
  options.distractor_length = std::max<int64_t>(1, contour_length / 3);
  int64_t distractor_dashes = 20;
  switch (size) {
    case 32:
      break;
    case 64:
      distractor_dashes = 22;
      options.dash_length = 5;
      options.dash_thickness = 1;
      options.contour_contrast = options.distractor_contrast = 0.8;
      options.marker_radius = 2.5;
      options.seed_distance = 12;
      options.continuity = 1.8;
      break;
    case 128:
      distractor_dashes = 35;
      options.dash_length = 5;
      options.dash_thickness = 1.5;
      options.margins = {2, 3};
      options.contour_contrast = options.distractor_contrast = 0.9;
      options.marker_radius = 3;
      options.seed_distance = 20;
      options.continuity = 1.8;
      break;
    case 256:
      distractor_dashes = 30;
      options.padding = 22;
      options.dash_length = 5;
      options.dash_thickness = 2;
      options.margins = {3};
      options.contour_contrast = options.distractor_contrast = 1;
      options.marker_radius = 5;
      options.seed_distance = 27;
      options.continuity = 1.8;
      break;
    default:
      fail("there are published Pathfinder settings for 32, 64, 128 and 256 pixels, not for ", size);
  }
  options.distractors = distractor_dashes / options.distractor_length;
  check(options);
  return options;
}

void check(const PathfinderOptions& options) {
  check_ranges(options, "pathfinder");
  require(!options.margins.empty(), "pathfinder.margins is empty; expected at least one");
  require(std::fmod(options.dash_thickness, 0.5) == 0, "pathfinder.dash_thickness = ", options.dash_thickness,
          " is not a multiple of 0.5");
  require(4 * options.seed_distance < options.size && 2 * options.padding < options.size,
          "pathfinder: contours begin at 2 * seed_distance = ", 2 * options.seed_distance,
          " pixels from the border or further, and a picture of size ", options.size, " has no such place");
}

}  // namespace mega::data
