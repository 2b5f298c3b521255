// What Pathfinder's pictures are drawn with: dashes and discs, drawn at twice the size and reduced, as the
// published program does with Pillow. All arithmetic on pixels is on whole numbers: the same everywhere.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "mega/data/formats/grey_image.h"

namespace mega::data {

struct Point {
  int64_t y = 0;
  int64_t x = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

// The point at `distance` in the direction `angle`, rounded up in both directions as published.
Point moved(Point from, double angle, double distance);

// A dash in a square of 2 radius + 1 pixels, at whose centre it begins.
struct Dash {
  int64_t radius = 0;
  GreyImage line;
  GreyImage mask;  // the line and the margin around it that others keep clear of

  // The pixels, from the centre, that have to be free where a contour begins: those where the mask is full,
  // one further down and to the right, as published.
  std::vector<Point> footprint;
  // Whether the footprint has pixels in the picture wherever in the picture the dash begins. The published
  // program finds no place for a dash of which this is not true. With small margins that is true of few
  // directions: this is why pictures of 32 pixels have so few distractors.
  bool placeable = false;
};

// Random dashes of one length, thickness and margin. Their directions are few once their ends are rounded to
// pixels, so that each is drawn once and kept.
class DashPen {
 public:
  DashPen(int64_t length, double thickness, int64_t margin);

  const Dash& dash(double angle);

 private:
  Dash draw(Point end) const;

  int64_t length_;
  double thickness_;
  int64_t margin_;
  std::map<std::pair<int64_t, int64_t>, Dash> drawn_;  // by the end in the picture of twice the size
};

// Random a white disc: each pixel becomes the brighter of picture and disc.
void draw_disc(GreyImage& image, Point centre, double radius);

// The points of a grid in a disc around the origin, its edge included.
std::vector<Point> disc_points(int64_t radius);

}  // namespace mega::data
