// The padding of a batch: its mask, and pooling that respects it.
#pragma once

#include "mega/config/models/classifier_options.h"
#include "mega/models/sequence_model.h"
#include "mega/ops/torch.h"

namespace mega::models {

// Of sequences in pieces (mega/nn/sequence_pieces.h): the padding of what this process reads; pooling is over
// all pieces.
class Padding {
 public:
  // Throws unless values are (batch, length), or (batch, length, channels) with several channels, and the
  // lengths are valid.
  Padding(const Sequences& batch, int64_t channels);

  // (B, L), true = padding; undefined if nothing is padded.
  const torch::Tensor& mask() const { return mask_; }

  // Pools x (B, L, D) to one vector per sequence: (B, D).
  torch::Tensor pool(const torch::Tensor& x, Pooling pooling) const;

 private:
  torch::Tensor lengths_, mask_;
};

}  // namespace mega::models
