// Megalodon's timestep norm, over whole sequences or as a stream.
#pragma once

#include <span>
#include <string>

#include "mega/infer/state.h"
#include "mega/infer/weight_file.h"
#include "mega/infer/workspace.h"
#include "mega/kernels/rows.h"

namespace mega::infer {

class TimestepNorm {
 public:
  TimestepNorm(WeightFile& file, const std::string& name, int64_t width, int64_t groups, bool affine);

  // Of a block's state: the count, then means and variances of the groups.
  int64_t state_size() const { return 2 * groups_ + 1; }

  // y = norm(x); y may alias x. Segments with a state continue from the statistics of its block `index`.
  void forward(kernels::ConstRows x, kernels::Rows y, std::span<const Segment> segments, size_t index,
               const Run& run) const;

 private:
  void group(kernels::ConstRows x, kernels::Rows y, const Segment& segment, int64_t group, double count,
             float* statistics) const;

  int64_t width_, groups_;
  const float* weight_ = nullptr;  // null: not affine
  const float* bias_ = nullptr;
};

}  // namespace mega::infer
