// What training and evaluation know of a model that reads whole sequences.
#pragma once

#include <vector>

#include "mega/ops/torch.h"

namespace mega::models {

// A batch of sequences: tokens (B, L) int64 or real numbers (B, L), with several channels (B, L, channels),
// and their true lengths (B) int64; an undefined `lengths` means that all are L long.
struct Sequences {
  torch::Tensor values;
  torch::Tensor lengths;
};

class SequenceModel : public torch::nn::Module {
 public:
  // One document, or two that are compared: (B, classes), logits or real numbers.
  virtual torch::Tensor predict(const std::vector<Sequences>& documents) = 0;
};

}  // namespace mega::models
