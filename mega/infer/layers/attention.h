// Attention of many queries to the keys of their chunks: those of the stream's open chunk, and their own.
#pragma once

#include <span>

#include "mega/config/layer_options.h"
#include "mega/infer/layers/position.h"
#include "mega/infer/state.h"
#include "mega/infer/workspace.h"
#include "mega/kernels/rows.h"

namespace mega::infer {

struct AttentionRows {
  kernels::Rows queries, keys, values;  // (rows, Z or 2Z), (rows, V)
};

// out (rows, V), equation 11. Keys and values of segments with a state are added to the cache of its block
// `index`; what that keeps as bf16 is rounded in `keys` and `values` too, so that it does not matter how a
// text was cut.
void attend(const BlockOptions& options, const Position& position, const AttentionRows& rows,
            std::span<const Segment> segments, size_t index, kernels::Rows out, const Run& run);

}  // namespace mega::infer
