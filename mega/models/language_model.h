// The paper's language model (section 4.3): causal Mega blocks between an embedding and a softmax.
#pragma once

#include <memory>
#include <vector>

#include "mega/config/model_options.h"
#include "mega/models/token_layers.h"
#include "mega/models/token_model.h"
#include "mega/nn/mega_block.h"
#include "mega/nn/norm.h"
#include "mega/ops/torch.h"

namespace mega::models {

class LanguageModelImpl : public TokenModel {
 public:
  explicit LanguageModelImpl(const LanguageModelOptions& options);

  torch::Tensor features(const torch::Tensor& tokens, const torch::Tensor& mask = {},
                         nn::State* state = nullptr) override;
  torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets) override {
    return output_.losses(features, targets);
  }
  torch::Tensor log_probabilities(const torch::Tensor& features) override {
    return output_.log_probabilities(features);
  }

  const LanguageModelOptions& options() const { return options_; }

 private:
  LanguageModelOptions options_;
  std::shared_ptr<torch::nn::Module> decoder_;  // holds everything, as in the released model
  TokenEmbedding embedding_;
  TokenOutput output_;
  nn::SequenceNorm embed_norm_{nullptr}, final_norm_{nullptr};
  std::vector<nn::MegaBlock> blocks_;
};
TORCH_MODULE(LanguageModel);

}  // namespace mega::models
