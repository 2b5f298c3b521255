// The Transformer language model that the paper compares with, its positions sinusoidal or ALiBi.
#pragma once

#include <vector>

#include "mega/baselines/sinusoidal.h"
#include "mega/baselines/transformer_layer.h"
#include "mega/config/model_options.h"
#include "mega/models/token_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// Causal prenorm layers and a final norm, under the names of fairseq's decoder. A state holds the keys and
// values of everything read so far; positions count padding too.
class LanguageTransformerImpl : public models::TokenModel {
 public:
  explicit LanguageTransformerImpl(const TransformerLanguageOptions& options);

 protected:
  torch::Tensor read(torch::Tensor x, const torch::Tensor& mask, nn::State* state) override;

 private:
  TransformerLanguageOptions options_;
  SinusoidalPositions positions_;
  std::vector<TransformerLayer> layers_;
  torch::nn::LayerNorm final_norm_{nullptr};
};
TORCH_MODULE(LanguageTransformer);

}  // namespace mega::baselines
