// How attention knows relative positions: biases on scores, or changes of queries and keys.
#pragma once

#include <memory>
#include <utility>

#include "mega/config/layer_options.h"
#include "mega/ops/attention.h"
#include "mega/ops/torch.h"

namespace mega::nn {

// One per attention, single head. A kind overrides what it changes.
class PositionImpl : public torch::nn::Module {
 public:
  // The bias for offsets key - query from `first` to `last`.
  virtual ops::RelativeBias bias(int64_t first, int64_t last);

  // Changes x (B, L, Z), queries or keys that stand at the given positions (L) int64 of their chunk.
  virtual torch::Tensor queries(const torch::Tensor& x, const torch::Tensor& positions);
  virtual torch::Tensor keys(const torch::Tensor& x, const torch::Tensor& positions);
  // Whether it changes them at all.
  virtual bool changes_queries() const { return false; }

  // Throws unless positions 0 .. length-1 exist.
  virtual void check_length(int64_t length) const;
};

// `positions`: how many there are to tell apart (the chunk, or the longest sequence); shared: Z.
// The parameter names are the released ones for `simple` and `rotary`.
std::shared_ptr<PositionImpl> make_position(PositionKind kind, int64_t shared, int64_t positions,
                                            bool causal);

}  // namespace mega::nn
