// The paper's Transformer language model baseline, with sinusoidal positions or ALiBi.
#pragma once

#include "mega/config/models/transformer_options.h"
#include "mega/models/decoder_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// Causal prenorm layers and a final norm, with the parameter names of fairseq's decoder.
class LanguageTransformerImpl : public models::DecoderModel {
 public:
  explicit LanguageTransformerImpl(const TransformerLanguageOptions& options);
};
TORCH_MODULE(LanguageTransformer);

}  // namespace mega::baselines
