// Batches of running text, for models that predict every next token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mega/data/batch_stream.h"
#include "mega/data/corpus/blocks.h"

namespace mega::data {

// Batches of one input, what a model reads, and sequences as targets, which are one token on. A block begins
// after </s>. Examples are the numbers of an epoch's blocks.
//
// Where blocks carry their state on (BlockPlan::carry), each batch has the next segment of every stream, in
// the order of streams, and a segment begins after the last token of the one before it. Epochs begin the
// streams again. With a batch that counts tokens there are as many streams as fit at the greatest
// length.
class BlockSource : public BatchSource {
 public:
  BlockSource(TokenView text, const BlockPlan& plan, const BatchOptions& options, uint64_t seed);

  std::vector<std::vector<int64_t>> plan(int64_t epoch) override;
  Batch make(std::span<const int64_t> examples) override;

 private:
  std::vector<std::vector<int64_t>> plan_streams(int64_t epoch);
  bool follows_another(int64_t example) const { return plan_.carry && example >= streams_; }

  TokenView text_;
  BlockPlan plan_;
  BatchOptions options_;
  uint64_t seed_;
  std::vector<Block> blocks_;  // of the epoch planned last
  int64_t streams_ = 0;
};

}  // namespace mega::data
