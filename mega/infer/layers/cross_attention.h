// Gated cross-attention: how the positions of a target attend to their source, for a batch of segments of any
// number of targets and sources. Targets of one source share its keys and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mega/base/aligned.h"
#include "mega/config/models/layer_options.h"
#include "mega/infer/layers/linear.h"
#include "mega/infer/layers/norm.h"
#include "mega/infer/layers/position.h"
#include "mega/infer/state.h"

namespace mega::infer {

// Where the positions of each source are among the rows of all sources.
struct SourceRange {
  int64_t begin = 0, length = 0;
};

// Keys (rows, Z or 2Z) and values (rows, D) of all sources, as one layer sees them.
struct SourceKeys {
  AlignedVector<float> keys, values;
};

// What a decoder knows of its sources. A value, computed once for a batch.
struct Sources {
  std::vector<SourceRange> ranges;
  std::vector<SourceKeys> layers;

  int64_t longest() const;
};

// Attention weights of each row to the positions of its source; rows of (longest source) numbers.
struct AttentionWeights {
  kernels::Rows rows{nullptr, 0};
};

class CrossAttention {
 public:
  // Reads the tensors of NAME. Of the block's options, chunk and causality do not matter here.
  CrossAttention(WeightFile& file, const std::string& name, const BlockOptions& options);

  // Error if a source or target of this length exceeds the layer's max positions.
  void check_length(int64_t length) const { position_.check_length(length); }

  // Keys and values of sources from the encoder's output (rows, D), rows in order of the ranges.
  SourceKeys read(kernels::ConstRows encoded, std::span<const SourceRange> ranges, const Run& run) const;

  // Replaces x (rows, D) by the layer's output. If `weights` is given, it receives those of segments of one
  // row.
  void forward(kernels::Rows x, int64_t rows, std::span<const Segment> segments,
               std::span<const SourceRange> ranges, const SourceKeys& source, const AttentionWeights* weights,
               const Run& run) const;

 private:
  class Attention;

  float scale(int64_t keys) const;

  BlockOptions options_;
  Norm norm_;
  Linear keys_, values_, mixed_, candidate_;
  Position position_;
};

}  // namespace mega::infer
