// The Transformer language model that the paper compares with, its positions sinusoidal or ALiBi.
#pragma once

#include <memory>
#include <vector>

#include "mega/config/model_options.h"
#include "mega/models/token_layers.h"
#include "mega/models/token_model.h"
#include "mega/ops/torch.h"
#include "mega/peers/sinusoidal.h"
#include "mega/peers/transformer_layer.h"

namespace mega::peers {

// Causal prenorm layers and a final norm. A state holds the keys and values of everything read so far;
// positions count padding too.
class LanguageTransformerImpl : public models::TokenModel {
 public:
  explicit LanguageTransformerImpl(const TransformerLanguageOptions& options);

  torch::Tensor features(const torch::Tensor& tokens, const torch::Tensor& mask = {},
                         nn::State* state = nullptr) override;
  torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets) override {
    return output_.losses(features, targets);
  }
  torch::Tensor log_probabilities(const torch::Tensor& features) override {
    return output_.log_probabilities(features);
  }

 private:
  TransformerLanguageOptions options_;
  std::shared_ptr<torch::nn::Module> decoder_;  // holds everything, under the names of fairseq's decoder
  models::TokenEmbedding embedding_;
  models::TokenOutput output_;
  SinusoidalPositions positions_;
  std::vector<TransformerLayer> layers_;
  torch::nn::LayerNorm final_norm_{nullptr};
};
TORCH_MODULE(LanguageTransformer);

}  // namespace mega::peers
