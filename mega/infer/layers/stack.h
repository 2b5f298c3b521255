// Mega blocks one above the other, with the norms before and after them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/config/layer_options.h"
#include "mega/infer/layers/feed_forward.h"
#include "mega/infer/layers/gated_attention.h"
#include "mega/infer/layers/norm.h"
#include "mega/infer/state.h"

namespace mega::infer {

class Stack {
 public:
  // Of tensors NAME.layers.0..., NAME.embed_norm and NAME.final_norm.
  Stack(WeightFile& file, const std::string& name, const StackOptions& options);

  int64_t width() const { return options_.block.width; }

  // Whether what comes later does not matter, so that a state can be carried.
  bool streams() const;
  // Error where it cannot.
  State initial_state(kernels::WeightType type) const;

  // Error where a text of this length goes beyond the positions that the model knows.
  void check_length(int64_t length) const;

  // Replaces embeddings x (rows, D) by features. Segments cover all rows; their states, if they have some,
  // go on.
  void forward(kernels::Rows x, int64_t rows, std::span<const Segment> segments, const Run& run) const;

 private:
  struct Block {
    GatedAttention attention;
    std::optional<FeedForward> feed_forward;
  };

  StackOptions options_;
  std::optional<Norm> embed_norm_, final_norm_;
  std::vector<Block> blocks_;
};

}  // namespace mega::infer
