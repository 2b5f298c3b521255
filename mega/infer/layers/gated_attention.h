// The Mega layer (equations 6 to 15), for a batch of segments of any number of texts.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "mega/config/models/layer_options.h"
#include "mega/infer/layers/attention.h"
#include "mega/infer/layers/ema.h"
#include "mega/infer/layers/linear.h"
#include "mega/infer/layers/norm.h"
#include "mega/infer/layers/position.h"
#include "mega/infer/layers/timestep_norm.h"
#include "mega/infer/state.h"

namespace mega::infer {

class GatedAttention {
 public:
  GatedAttention(WeightFile& file, const std::string& name, const BlockOptions& options);

  // An empty state that stores keys and values as `type`, in pages of this many positions.
  BlockState initial_state(kernels::WeightType type, int64_t page) const;

  // Error if a text of this length exceeds the layer's max positions.
  void check_length(int64_t length) const;

  // Replaces x (rows, D) by the layer's output; `index` is the block's index in the segments' states, whose
  // positions are not changed.
  void forward(kernels::Rows x, int64_t rows, std::span<const Segment> segments, size_t index,
               const Run& run) const;

 private:
  void normalize(kernels::ConstRows x, kernels::Rows y, int64_t rows, std::span<const Segment> segments,
                 size_t index, const Run& run) const;
  void place(const AttentionRows& rows, std::span<const Segment> segments, const Run& run) const;

  BlockOptions options_;
  Arithmetic arithmetic_;  // of attention
  std::optional<Norm> norm_;
  std::optional<TimestepNorm> timestep_norm_;  // instead
  std::optional<MovingAverage> average_;
  Linear values_, mixed_, candidate_;
  const float* gamma_;  // (2, Z), for queries and keys
  const float* beta_;
  Position position_;
};

}  // namespace mega::infer
