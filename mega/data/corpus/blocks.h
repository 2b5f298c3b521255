// How running text becomes examples: blocks of a few chunks, drawn anew each epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/config/recipe/train_options.h"
#include "mega/data/corpus/token_file.h"

namespace mega::data {

// Tokens begin .. end - 1 of a token file.
struct Block {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const Block&) const = default;
};

// The text in blocks, in its order, each token in one. For every block a size of least .. most chunks is
// drawn, by the seed and the epoch. Cut at lines: as many whole lines as fit, or one line that is longer. Cut
// exactly: of that size. The last block is what is left.
//
// No block is longer than `most` chunks: a longer line is cut, where the released implementation takes it
// whole. Memory must not hang on one line of a corpus.
std::vector<Block> plan_blocks(const TokenView& text, const BlockPlan& plan, uint64_t seed, int64_t epoch);

// The text in streams of equal length (to one token), read side by side so that a model can carry its state
// from one segment of a stream to the next. `segments` has, update by update, one segment of each stream in
// their order; the size is drawn per update.
struct CarryPlan {
  int64_t streams = 0;
  std::vector<Block> segments;
};
// `streams`: as many as that, or as the text has tokens.
CarryPlan plan_carry(const TokenView& text, const BlockPlan& plan, int64_t streams, uint64_t seed,
                     int64_t epoch);

}  // namespace mega::data
