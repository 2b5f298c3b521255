// The streaming state of a model: the EMA state of every block, the keys and values of the open chunk, and
// the position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mega/base/aligned.h"
#include "mega/infer/layers/key_value_cache.h"

namespace mega::infer {

struct BlockState {
  AlignedVector<float> averages;    // packed as in kernels/ema.h; empty without EMA
  AlignedVector<float> statistics;  // of a timestep norm: the count, means and variances; empty without one
  KeyValueCache cache;
};

// A value: copies are independent.
struct State {
  std::vector<BlockState> blocks;
  int64_t position = 0;

  int64_t bytes() const {
    int64_t sum = 0;
    for (const BlockState& block : blocks)
      sum += static_cast<int64_t>((block.averages.size() + block.statistics.size()) * sizeof(float)) +
             block.cache.bytes();
    return sum;
  }
};

// A range of rows in a batch: the next positions of a text. Without a state, the whole text.
struct Segment {
  State* state = nullptr;
  int64_t begin = 0, length = 0;
  size_t source = 0;  // in a decoder, the number of the source that it translates

  int64_t position() const { return state == nullptr ? 0 : state->position; }
};

}  // namespace mega::infer
