// What a text leaves behind in a model that has read it: the moving averages of every block, the keys and
// values of the open chunk, and the place.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/aligned.h"
#include "mega/infer/layers/key_value_cache.h"

namespace mega::infer {

struct BlockState {
  AlignedVector<float> averages;  // as kernels/ema.h packs them; empty without a moving average
  KeyValueCache cache;
};

// A value: a copy goes its own way.
struct State {
  std::vector<BlockState> blocks;
  int64_t position = 0;

  int64_t bytes() const {
    int64_t sum = 0;
    for (const BlockState& block : blocks)
      sum += static_cast<int64_t>(block.averages.size() * sizeof(float)) + block.cache.bytes();
    return sum;
  }
};

// A stretch of rows that go through a model together with others: the next ones of a text. Without a state
// they are all of it.
struct Segment {
  State* state = nullptr;
  int64_t begin = 0, length = 0;

  int64_t position() const { return state == nullptr ? 0 : state->position; }
};

}  // namespace mega::infer
