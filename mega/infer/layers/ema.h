// The multi-dimensional damped EMA of section 3.1, over whole sequences or as a stream.
#pragma once

#include <span>
#include <string>

#include "mega/base/aligned.h"
#include "mega/config/models/layer_options.h"
#include "mega/infer/state.h"
#include "mega/infer/weight_file.h"
#include "mega/infer/workspace.h"
#include "mega/kernels/ema.h"
#include "mega/kernels/rows.h"

namespace mega::infer {

class MovingAverage {
 public:
  MovingAverage(WeightFile& file, const std::string& name, int64_t width, const EmaOptions& options);

  // Size of one block's state in floats.
  int64_t state_size() const;

  // y = silu(s + omega x), or the part of it that the options select (equations 4 to 6). Segments with a
  // state continue from the EMA state of its block `index`, and ignore truncation, as released.
  void forward(kernels::ConstRows x, kernels::Rows y, std::span<const Segment> segments, size_t index,
               const Run& run) const;

 private:
  // Packed for the kernels: (groups, N, lanes); of a complex average decay and output have two rows for each,
  // the real and the imaginary part.
  struct Direction {
    AlignedVector<float> decay, input, output;
    AlignedVector<float> product;  // input * output, for scans from a zero state
    AlignedVector<float> cut;      // decay^truncation
  };
  // Whole sequences use the streaming scan from a zero state, unless two directions are added or the kernel
  // is truncated.
  bool needs_product() const { return options_.bidirectional || options_.truncation > 0; }
  bool is_complex() const { return options_.kind == EmaKind::complex; }
  Direction direction(WeightFile& file, const std::string& name, int64_t first_row) const;
  Direction complex_direction(WeightFile& file, const std::string& name, int64_t first_row) const;
  // One direction of a group over a segment, of a complex average.
  void turn(const kernels::EmaRows& x, const Direction& direction, int64_t group, bool reverse, float* state,
            const kernels::EmaOutput& output) const;
  void stream(kernels::ConstRows x, kernels::Rows y, const Segment& segment, int64_t group,
              float* state) const;
  void whole(kernels::ConstRows x, kernels::Rows y, const Segment& segment, int64_t group,
             float* state) const;

  int64_t width_, n_, numbers_;  // numbers of a channel's state: N, or 2 N of complex averages
  EmaOptions options_;
  const float* skip_ = nullptr;  // omega (D). May be null.
  Direction back_, ahead_;
};

}  // namespace mega::infer
