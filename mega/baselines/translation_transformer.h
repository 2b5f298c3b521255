// The Transformer that the paper compares its translator with (Vaswani et al. 2017).
#pragma once

#include "mega/config/models/transformer_options.h"
#include "mega/models/translation_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// Postnorm layers without a final norm, sinusoidal positions, and the parameter names of fairseq.
class TranslationTransformerImpl : public models::TranslationModel {
 public:
  explicit TranslationTransformerImpl(const TransformerTranslationOptions& options);
};
TORCH_MODULE(TranslationTransformer);

}  // namespace mega::baselines
