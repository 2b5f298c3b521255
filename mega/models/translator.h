// The paper's translator (section 4.4): Mega blocks that see the whole source, and causal ones with gated
// cross-attention that write the target.
#pragma once

#include "mega/config/models/translator_options.h"
#include "mega/models/translation_model.h"
#include "mega/ops/torch.h"

namespace mega::models {

class TranslatorImpl : public TranslationModel {
 public:
  explicit TranslatorImpl(const TranslatorOptions& options);
};
TORCH_MODULE(Translator);

}  // namespace mega::models
