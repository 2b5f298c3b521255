// The Transformer that the paper compares with on sequence classification.
#pragma once

#include "mega/config/transformer_options.h"
#include "mega/models/sequence_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// Of one document, or of two that go through the same encoder. The released encoder: tokens scaled by
// sqrt(D), plus positions, a layer norm, postnorm layers, no final norm. It reads tokens only; real numbers
// are here embedded as in Mega's encoder, unscaled, plus positions.
class TransformerImpl : public models::SequenceModel {
 public:
  explicit TransformerImpl(const TransformerOptions& options);
};
TORCH_MODULE(Transformer);

}  // namespace mega::baselines
