// Softmax attention of chosen queries to chosen keys: the sparse patterns of BigBird and Reformer.
#pragma once

#include "mega/ops/dropout.h"
#include "mega/ops/torch.h"

namespace mega::ops {

// Which queries see which keys, in groups: row g of `queries` holds the queries, row g of `keys` the keys
// that all of them see. (B, H, groups, n) int64, or (1, H, groups, n) for all sequences; -1 is none, among
// queries only at the end of a row. A query belongs to one group at most; a key may come several times, and
// then counts so often.
struct AttentionGroups {
  torch::Tensor queries, keys;
};

struct GatheredAttentionSettings {
  int64_t heads = 1;   // H; the columns of q, k and v are grouped by head
  double scale = 1.0;  // of the scores
  Dropout dropout;     // on the weights
};

// q (B, Q, H Z), k (B, K, H Z), v (B, K, H V), mask (B, K) bool with true = padding, or undefined -> (B, Q,
// H V). A query that sees no key, or is in no group, gives 0. The fused form never holds more than the keys
// of one group per thread.
torch::Tensor gathered_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                 const AttentionGroups& groups, const torch::Tensor& mask,
                                 const GatheredAttentionSettings& settings);

}  // namespace mega::ops
