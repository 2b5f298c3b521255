// Relative positions in attention: biases on scores, or transformations of queries and keys.
#pragma once

#include <memory>
#include <utility>

#include "mega/config/models/layer_options.h"
#include "mega/ops/attention.h"
#include "mega/ops/torch.h"

namespace mega::nn {

// One per attention layer, single head. Each kind overrides what it needs.
class PositionImpl : public torch::nn::Module {
 public:
  // The bias for offsets (key - query) from `first` to `last`.
  virtual ops::RelativeBias bias(int64_t first, int64_t last);

  // Transforms x (B, L, Z), queries or keys at the given positions (L) int64 within their chunk.
  virtual torch::Tensor queries(const torch::Tensor& x, const torch::Tensor& positions);
  virtual torch::Tensor keys(const torch::Tensor& x, const torch::Tensor& positions);
  // Whether queries() and keys() change their input.
  virtual bool changes_queries() const { return false; }

  // Throws unless positions 0 .. length-1 are supported.
  virtual void check_length(int64_t length) const;
};

// `positions`: the number of distinct positions (the chunk size, or the longest sequence); `shared`: Z.
// Parameter names are the released ones for `simple` and `rotary`.
std::shared_ptr<PositionImpl> make_position(PositionKind kind, int64_t shared, int64_t positions,
                                            bool causal);

}  // namespace mega::nn
