// How Pathfinder's dashed contours ("snakes") grow: dash by dash, around what is there already.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "mega/base/random.h"
#include "mega/data/generators/pathfinder_drawing.h"
#include "mega/data/generators/pathfinder_options.h"

namespace mega::data {

// One dash where it lies in the picture.
struct Stroke {
  const Dash* dash = nullptr;
  Point at;  // where the dash begins, the centre of its square
  Point tail, head;
};

struct Snake {
  std::vector<Stroke> strokes;
  Point pivot;       // the point around which the last dash turned: a margin before its tail
  double angle = 0;  // of the last dash
};

// Grows snakes whose dashes have one margin. `occupied` holds what the masks of dashes cover: 0 is free, 255
// full. A snake's last dash is not yet in it, or the next could not begin beside it.
class SnakeGrower {
 public:
  SnakeGrower(const PathfinderOptions& options, int64_t margin);

  // The two long snakes, which grow in turn; nothing when they came to a dead end.
  std::optional<std::array<Snake, 2>> pair(Random& draws, GreyImage& occupied);

  // A short one, from anywhere; when there is none, `occupied` is as it was.
  std::optional<Snake> distractor(Random& draws, GreyImage& occupied);

 private:
  // An end point that the next dash may have, from the pivot.
  struct Reach {
    Point offset;
    double angle;
  };

  std::optional<Snake> begin_anywhere(Random& draws, const GreyImage& occupied);
  std::optional<Snake> begin_in_the_middle(Random& draws);
  std::optional<Snake> begin_beside(const Snake& other, Random& draws);
  std::optional<Snake> begin(Point tail, double angle);
  bool extend(Snake& snake, Random& draws, GreyImage& occupied);
  double continuity_weight(double angle, double last_angle) const;

  PathfinderOptions options_;
  int64_t margin_;
  DashPen pen_;
  std::vector<Point> clearance_;
  std::vector<Reach> reaches_;
  std::vector<double> sums_;  // of weights, kept for its memory
};

}  // namespace mega::data
