// The paper's language model (section 4.3): causal Mega blocks between an embedding and a softmax.
#pragma once

#include "mega/config/models/language_options.h"
#include "mega/models/decoder_model.h"
#include "mega/ops/torch.h"

namespace mega::models {

class LanguageModelImpl : public DecoderModel {
 public:
  explicit LanguageModelImpl(const LanguageModelOptions& options);
};
TORCH_MODULE(LanguageModel);

}  // namespace mega::models
