// A stack of Mega blocks, with the norms before and after them: an encoder, a language model, or a decoder
// that attends to sources.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/config/models/layer_options.h"
#include "mega/infer/layers/cross_attention.h"
#include "mega/infer/layers/feed_forward.h"
#include "mega/infer/layers/gated_attention.h"
#include "mega/infer/layers/norm.h"
#include "mega/infer/state.h"

namespace mega::infer {

class Stack {
 public:
  // Reads the tensors NAME.layers.0..., NAME.embed_norm and NAME.final_norm; the options may call the list of
  // blocks otherwise. With an empty name they have no holder.
  Stack(WeightFile& file, const std::string& name, const StackOptions& options);

  int64_t width() const { return options_.block.width; }

  // Whether the model is causal, so that it can stream with a state.
  bool streams() const;
  // Error if it cannot stream. Keys and values are in pages of this many positions.
  State initial_state(kernels::WeightType type, int64_t page = KeyValueCache::kPage) const;

  // Error if a text of this length exceeds the model's max positions.
  void check_length(int64_t length) const;

  // Of a decoder: what its layers need of sources, from the encoder's output (rows, D), where the sources
  // follow each other.
  Sources read_sources(kernels::ConstRows encoded, std::span<const SourceRange> ranges, const Run& run) const;

  // Replaces embeddings x (rows, D) by features. Segments cover all rows; their states, if any, are advanced.
  // A decoder needs its sources; `weights`, if given, are those of the last layer's cross-attention.
  void forward(kernels::Rows x, int64_t rows, std::span<const Segment> segments, const Run& run,
               const Sources* sources = nullptr, const AttentionWeights* weights = nullptr) const;

 private:
  struct Block {
    GatedAttention attention;
    std::optional<CrossAttention> cross;
    std::optional<FeedForward> feed_forward;
  };

  StackOptions options_;
  std::optional<Norm> embed_norm_, final_norm_;
  std::vector<Block> blocks_;
};

}  // namespace mega::infer
