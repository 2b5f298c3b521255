// The Transformer language model that the paper compares with, its positions sinusoidal or ALiBi.
#pragma once

#include "mega/config/transformer_options.h"
#include "mega/models/token_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// Causal prenorm layers and a final norm, under the names of fairseq's decoder.
class LanguageTransformerImpl : public models::TokenModel {
 public:
  explicit LanguageTransformerImpl(const TransformerLanguageOptions& options);
};
TORCH_MODULE(LanguageTransformer);

}  // namespace mega::baselines
