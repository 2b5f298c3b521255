// The efficient Transformers of the Long Range Arena (Tay et al. 2021), whose figures the paper quotes: one
// encoder, of which each kind exchanges the attention.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/models/classifier_options.h"

namespace mega {

// The encoder, by default of the size that was published for Text.
struct ArenaOptions : SequenceOptions {
  int64_t documents = 1;
  int64_t width = 256;
  int64_t hidden = 1024;
  int64_t heads = 4;
  double dropout = 0.1;
  bool arena_padding = false;

  ArenaOptions() {
    head = 1024;
    pooling = Pooling::cls;
  }

  void check() const override;
  bool has_own_cls() const override { return pooling == Pooling::cls; }
  std::vector<TensorInfo> tensors() const override;
  int64_t document_count() const override { return documents; }
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  // As wide, with as many layers and parameters.
  bool match(const ModelKind& other) override;

  // Positions of a sequence of this length inside the encoder.
  int64_t positions(int64_t length) const { return length + (has_own_cls() ? 1 : 0); }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    SequenceOptions::visit(self, v);
    v.field("documents", self.documents, "1 classifies a sequence, 2 a pair", Range{1, 2});
    v.field("width", self.width, "D, width of the model", kWidth);
    v.field("hidden", self.hidden, "width inside the feed-forward", kWidth);
    v.field("heads", self.heads, "attention heads; divides the width", Range{1, 1024});
    v.field("dropout", self.dropout, "on the embedding and on the output of each sublayer", kProbability);
    v.field("arena_padding", self.arena_padding,
            "padding takes part in attention and pooling as it did in the Long Range Arena's programs");
  }

 protected:
  // The projections of an attention, without biases.
  virtual std::vector<std::string> projections() const { return {"query", "key", "value", "out"}; }
  // What the attention has beside them.
  virtual void add_attention_tensors(TensorList&, const std::string& /*name*/) const {}
  // Per position: multiply-adds beside the projections, and numbers kept for the backward pass beside inputs
  // and outputs of the projections.
  virtual double attention_multiply_adds(int64_t positions) const = 0;
  virtual double kept_by_attention(int64_t positions) const = 0;
  // Numbers per position that the backward pass of one attention needs for a moment.
  virtual double moment_of_attention(int64_t positions) const;
};

// Attention with weights, which dropout can act on.
struct WeightedArenaOptions : ArenaOptions {
  double attention_dropout = 0.1;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    ArenaOptions::visit(self, v);
    v.field("attention_dropout", self.attention_dropout, "on attention weights", kProbability);
  }
};

// The arena's own Transformer.
struct ArenaTransformerOptions : WeightedArenaOptions {
  static constexpr const char* kind = "transformer_arena";

 protected:
  double attention_multiply_adds(int64_t positions) const override;
  double kept_by_attention(int64_t positions) const override;
};

// What a Performer (Choromanski et al. 2021) makes of queries and keys: relu(x) + 0.001, which is what the
// arena ran, or random features that approximate softmax attention (FAVOR+).
enum class PerformerKernel { relu, favor };

template <>
struct EnumNames<PerformerKernel> {
  static constexpr auto names =
      enum_table<PerformerKernel>({{PerformerKernel::relu, "relu"}, {PerformerKernel::favor, "favor"}});
};

struct PerformerOptions : ArenaOptions {
  static constexpr const char* kind = "performer";
  PerformerKernel kernel = PerformerKernel::relu;
  int64_t features = 256;

  // Of one head.
  int64_t feature_count() const { return kernel == PerformerKernel::relu ? width / heads : features; }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    ArenaOptions::visit(self, v);
    v.field("kernel", self.kernel, "features of queries and keys");
    v.field("features", self.features, "random features of each head, with kernel = favor",
            Range{1, 1 << 20});
  }

 protected:
  void add_attention_tensors(TensorList& list, const std::string& name) const override;
  double attention_multiply_adds(int64_t positions) const override;
  double kept_by_attention(int64_t positions) const override;
  double moment_of_attention(int64_t positions) const override;
};

// Linformer (Wang et al. 2020): keys and values are projected along the sequence to `rank` positions by one
// matrix for both, as the arena has it. Not for sequences longer than it was made for.
struct LinformerOptions : WeightedArenaOptions {
  static constexpr const char* kind = "linformer";
  int64_t rank = 16;
  int64_t max_positions = 4000;

  int64_t max_length() const override { return max_positions; }
  void make_for(int64_t length) override { max_positions = std::max(max_positions, length); }
  bool match(const ModelKind& other) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    WeightedArenaOptions::visit(self, v);
    v.field("rank", self.rank, "positions that keys and values are projected to", Range{1, 1 << 20});
    v.field("max_positions", self.max_positions, "longest sequence", Range{1, 1 << 30});
  }

 protected:
  void add_attention_tensors(TensorList& list, const std::string& name) const override;
  double attention_multiply_adds(int64_t positions) const override;
  double kept_by_attention(int64_t positions) const override;
};

// BigBird (Zaheer et al. 2020): blocks of queries see their neighbours, the first and the last block, and
// random ones; the first and the last block see everything.
struct BigBirdOptions : WeightedArenaOptions {
  static constexpr const char* kind = "bigbird";
  int64_t block = 64;
  int64_t random_blocks = 3;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    WeightedArenaOptions::visit(self, v);
    v.field("block", self.block, "positions of a block", Range{1, 1 << 20});
    v.field("random_blocks", self.random_blocks, "random blocks that each block sees", Range{0, 1 << 20});
  }

 protected:
  double attention_multiply_adds(int64_t positions) const override;
  double kept_by_attention(int64_t positions) const override;
};

// Which Reformer: the arena's, of 10 buckets at any length, or that of its article (Kitaev et al. 2020), with
// buckets of equal size, several rounds of hashing, and an output projection.
enum class ReformerForm { arena, article };

template <>
struct EnumNames<ReformerForm> {
  static constexpr auto names =
      enum_table<ReformerForm>({{ReformerForm::arena, "arena"}, {ReformerForm::article, "article"}});
};

struct ReformerOptions : ArenaOptions {
  static constexpr const char* kind = "reformer";
  ReformerForm form = ReformerForm::arena;
  int64_t buckets = 10;
  int64_t bucket_size = 64;
  int64_t rounds = 2;

  void check() const override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    ArenaOptions::visit(self, v);
    v.field("form", self.form, "as the arena ran it, or as in its article");
    v.field("buckets", self.buckets, "buckets of a sequence, with form = arena; even", Range{2, 1 << 20});
    v.field("bucket_size", self.bucket_size, "positions of a bucket, with form = article", Range{1, 1 << 20});
    v.field("rounds", self.rounds, "rounds of hashing, with form = article", Range{1, 64});
  }

 protected:
  std::vector<std::string> projections() const override;
  double attention_multiply_adds(int64_t positions) const override;
  double kept_by_attention(int64_t positions) const override;
};

}  // namespace mega
