// Where the sequences of a batch end, and what follows from that.
#pragma once

#include "mega/config/classifier_options.h"
#include "mega/models/sequence_model.h"
#include "mega/ops/torch.h"

namespace mega::models {

class Padding {
 public:
  // Throws unless the batch holds (batch, length) values, with several channels (batch, length, channels),
  // and possible lengths.
  Padding(const Sequences& batch, int64_t channels);

  // (B, L), true = padding; undefined when nothing is padded.
  const torch::Tensor& mask() const { return mask_; }

  // What stands for each sequence of x (B, L, D): (B, D).
  torch::Tensor pool(const torch::Tensor& x, Pooling pooling) const;

 private:
  torch::Tensor lengths_, mask_;
};

}  // namespace mega::models
