// The paper's Transformer baseline for sequence classification.
#pragma once

#include "mega/config/models/transformer_options.h"
#include "mega/models/encoder_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// Classifies one document, or two that share the encoder. The released encoder: tokens scaled by sqrt(D),
// plus positions, a layer norm, postnorm layers, no final norm. The released one reads tokens only; here real
// numbers are embedded as in Mega's encoder, unscaled, plus positions.
class TransformerImpl : public models::EncoderModel {
 public:
  explicit TransformerImpl(const TransformerOptions& options);
};
TORCH_MODULE(Transformer);

}  // namespace mega::baselines
