// Models that map whole sequences, or pictures, to one prediction each.
#pragma once

#include <vector>

#include "mega/ops/torch.h"

namespace mega::models {

// A batch of sequences: tokens (B, L) int64 or real numbers (B, L), with several channels (B, L, channels),
// and their lengths (B) int64 without padding; undefined `lengths` means that all have length L. The
// positions of a picture are its pixels, row by row.
struct Sequences {
  torch::Tensor values;
  torch::Tensor lengths;
};

class SequenceModel : public torch::nn::Module {
 public:
  // For one document, or two that are compared: (B, classes), logits or real numbers.
  virtual torch::Tensor predict(const std::vector<Sequences>& documents) = 0;

  // Positions of a batch that is read without gradients: products are large, and memory stays small.
  virtual int64_t positions_together() const { return 1 << 15; }
};

}  // namespace mega::models
