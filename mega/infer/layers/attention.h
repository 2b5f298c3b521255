// Attention of a batch of queries to the keys of their chunks: cached keys of the open chunk, and new ones.
#pragma once

#include <span>

#include "mega/config/models/layer_options.h"
#include "mega/infer/layers/position.h"
#include "mega/infer/state.h"
#include "mega/infer/weight_file.h"
#include "mega/infer/workspace.h"
#include "mega/kernels/rows.h"

namespace mega::infer {

struct AttentionLayer {
  const BlockOptions& options;
  const Position& position;
  Arithmetic arithmetic;  // that blocks of queries may be computed in
};

struct AttentionRows {
  kernels::Rows queries, keys, values;  // (rows, Z or 2Z), (rows, V)
};

// out (rows, V), equation 11. Keys and values of segments with a state are added to the cache of its block
// `index`; if the cache is bf16, `keys` and `values` are rounded, too, so that the result does not depend on
// how a text was split.
void attend(const AttentionLayer& layer, const AttentionRows& rows, std::span<const Segment> segments,
            size_t index, kernels::Rows out, const Run& run);

}  // namespace mega::infer
