// What decides a Pathfinder picture.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/options/options.h"

namespace mega::data {

// The defaults are those of Long Range Arena's Pathfinder, 32 by 32 pixels, contours of 14 dashes.
struct PathfinderOptions {
  int64_t size = 32;
  int64_t padding = 1;
  int64_t contour_length = 14;
  int64_t distractor_length = 4;
  int64_t distractors = 5;
  int64_t dash_length = 2;
  double dash_thickness = 0.5;
  std::vector<int64_t> margins = {1};
  double contour_contrast = 1.5;
  double distractor_contrast = 2;
  double marker_radius = 1.5;
  int64_t seed_distance = 7;
  double continuity = 1;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("size", self.size, "height and width of the picture", Range{16, 1024});
    v.field("padding", self.padding, "pixels at the border that contours keep clear of", Range{0, 256});
    v.field("contour_length", self.contour_length, "dashes of the two long contours", Range{2, 1000});
    v.field("distractor_length", self.distractor_length, "dashes of the short ones", Range{1, 1000});
    v.field("distractors", self.distractors, "short contours, as far as they fit", Range{0, 1000});
    v.field("dash_length", self.dash_length, "pixels of a dash", Range{1, 64});
    v.field("dash_thickness", self.dash_thickness, "pixels, a multiple of a half", Range{0.5, 16});
    v.field("margins", self.margins, "pixels kept clear around a dash; a picture uses one of these",
            Range{0, 32});
    v.field("contour_contrast", self.contour_contrast, "brightness of long contours; that of a marker is 1",
            Range{0.01, 100});
    v.field("distractor_contrast", self.distractor_contrast, "brightness of short contours",
            Range{0.01, 100});
    v.field("marker_radius", self.marker_radius, "pixels", Range{0.5, 64});
    v.field("seed_distance", self.seed_distance, "pixels between the beginnings of the long contours",
            Range{1, 255});
    v.field("continuity", self.continuity, "how straight contours are; 1 allows turns of 90 degrees",
            Range{0.1, 100});
  }
};

// The published settings for pictures of 32 (Pathfinder), 64, 128 (Path-X) or 256 pixels. Long Range Arena
// has contours of 6, 9 and 14 dashes.
PathfinderOptions pathfinder_options(int64_t size, int64_t contour_length = 14);

// Throws where a number is out of its range, or no picture could satisfy them all.
void check(const PathfinderOptions& options);

}  // namespace mega::data
