// The paper's language model (section 4.3): causal Mega blocks between an embedding and a softmax.
#pragma once

#include <vector>

#include "mega/config/model_options.h"
#include "mega/models/token_model.h"
#include "mega/nn/mega_block.h"
#include "mega/nn/norm.h"
#include "mega/ops/torch.h"

namespace mega::models {

class LanguageModelImpl : public TokenModel {
 public:
  explicit LanguageModelImpl(const LanguageModelOptions& options);

 protected:
  torch::Tensor read(torch::Tensor x, const torch::Tensor& mask, nn::State* state) override;

 private:
  LanguageModelOptions options_;
  nn::SequenceNorm embed_norm_{nullptr}, final_norm_{nullptr};
  std::vector<nn::MegaBlock> blocks_;
};
TORCH_MODULE(LanguageModel);

}  // namespace mega::models
