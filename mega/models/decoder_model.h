// A language model of an embedding, a stack and an output layer.
#pragma once

#include <memory>

#include "mega/config/models/language_options.h"
#include "mega/models/token_layers.h"
#include "mega/models/token_model.h"
#include "mega/nn/stack.h"
#include "mega/ops/torch.h"

namespace mega::models {

// Kinds of models differ in their stack.
class DecoderModel : public TokenModel {
 public:
  torch::Tensor features(const torch::Tensor& tokens, const torch::Tensor& mask = {},
                         nn::State* state = nullptr) override;
  torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets) override {
    return output_.losses(features, targets);
  }
  torch::Tensor log_probabilities(const torch::Tensor& features) override {
    return output_.log_probabilities(features);
  }

 protected:
  DecoderModel(const TokenOptions& options, int64_t width);

  // Holds all modules, as in the released model; the stack is registered in it.
  torch::nn::Module& decoder() { return *decoder_; }

  void set_stack(std::unique_ptr<nn::Stack> stack) { stack_ = std::move(stack); }

 private:
  size_t layers_;
  std::shared_ptr<torch::nn::Module> decoder_;
  TokenEmbedding embedding_;
  TokenOutput output_;
  std::unique_ptr<nn::Stack> stack_;
};

}  // namespace mega::models
