// Transformer-XL (Dai et al. 2019), with which the paper compares language models.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/models/language_options.h"

namespace mega {

// What a layer sees of the segments before the one that is read.
struct SegmentMemory {
  int64_t positions = 512;
  int64_t clamp = 0;
  bool same_length = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("positions", self.positions, "positions of earlier segments that a layer keeps", Range{1, 1e9});
    v.field("clamp", self.clamp, "larger distances count as this one; 0: none", Range{0, 1e9});
    v.field("same_length", self.same_length, "every query sees as many keys");
  }
};

// A language model whose layers attend to what they read in earlier segments, without gradient. By default
// the size that was published for enwik8. Its embeddings are scaled and tied to its output, which has biases.
struct TransformerXlOptions : TokenOptions {
  static constexpr const char* kind = "transformer-xl";
  int64_t width = 512;
  int64_t heads = 8;
  int64_t head_width = 64;
  int64_t hidden = 2048;
  bool prenorm = false;
  double dropout = 0.1;
  int64_t segment = 512;
  SegmentMemory training;
  SegmentMemory scoring;

  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  ReadingPlan reading() const override { return {.chunk = segment, .memory = training.positions}; }
  void set_chunk(int64_t positions) override { segment = positions; }
  bool match(const ModelKind& other) override;

  // Those of TokenOptions that it has, and its own.
  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    TokenOptions::visit_size(self, v);
    TokenOptions::visit_bands(self, v);
    v.field("width", self.width, "D, width of the model", kWidth);
    v.field("heads", self.heads, "attention heads", Range{1, 1024});
    v.field("head_width", self.head_width, "width of a head", kWidth);
    v.field("hidden", self.hidden, "width inside the feed-forward", kWidth);
    v.field("prenorm", self.prenorm, "normalise the input of each sublayer, not its output");
    v.field("dropout", self.dropout,
            "on the embedding, inside the feed-forward and on the output of each sublayer", kProbability);
    v.field("segment", self.segment, "tokens that are read at once when a text is scored", Range{1, 1e9});
    v.nested("training", self.training, "memory in training, whose blocks carry it on (train.blocks.carry)");
    v.nested("scoring", self.scoring, "memory when a text is scored or written");
  }
};

}  // namespace mega
