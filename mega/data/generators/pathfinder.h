// Pathfinder (Linsley et al., 2018) as Long Range Arena makes it: two long dashed contours among short ones,
// two discs, and the question whether both are on the ends of one contour.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "mega/data/formats/grey_image.h"
#include "mega/data/generators/pathfinder_drawing.h"
#include "mega/data/generators/pathfinder_options.h"

namespace mega::data {

struct PathfinderExample {
  GreyImage image;
  int label = 0;       // 1: the discs are on the same contour
  int64_t margin = 0;  // the one of options.margins that was drawn

  // What the picture was drawn from.
  struct Segment {
    Point tail, head;
  };
  std::array<std::vector<Segment>, 2> contours;
  std::array<Point, 2> discs;  // at the beginning of a contour, and at the end of a contour
};

class SnakeGrower;

// Example i depends on options, seed and i alone: threads with a generator each may share the work.
class PathfinderGenerator {
 public:
  PathfinderGenerator(const PathfinderOptions& options, uint64_t seed);
  ~PathfinderGenerator();

  PathfinderExample example(int64_t index);
  PathfinderExample next() { return example(next_++); }

 private:
  PathfinderOptions options_;
  uint64_t seed_;
  int64_t next_ = 0;
  std::vector<std::unique_ptr<SnakeGrower>> growers_;  // one per margin
};

// Writes imgs/<batch>/sample_<i>.png and metadata/<batch>.npy, a line of text per picture as published, a
// thousand pictures to a batch. `progress`, where given, hears how many are written, from one thread at a
// time. Metadata is written last: what it names is there.
void write_pathfinder(const std::filesystem::path& folder, const PathfinderOptions& options, int64_t count,
                      uint64_t seed, const std::function<void(int64_t done)>& progress = nullptr,
                      int threads = 1);

}  // namespace mega::data
