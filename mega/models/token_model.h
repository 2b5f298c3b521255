// The common interface and implementation of models that predict the next token, for training, scoring and
// generation.
#pragma once

#include <memory>

#include "mega/config/models/language_options.h"
#include "mega/models/token_layers.h"
#include "mega/nn/stack.h"
#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::models {

// An embedding, a stack and an output layer. Kinds of models differ in their stack.
class TokenModel : public torch::nn::Module {
 public:
  // tokens (B, L) int64, mask (B, L) bool with true = padding, or undefined -> (B, L, D), the input of the
  // output layer. With a state, tokens continue its texts; a failed call leaves the state unchanged.
  torch::Tensor features(const torch::Tensor& tokens, const torch::Tensor& mask = {},
                         nn::State* state = nullptr);

  // -log p of each target (M) given its features (M, D): (M). Differentiable; in training mode with dropout
  // and the training loss. Never materialises M x vocabulary values at once.
  torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets) {
    return output_.losses(features, targets);
  }

  // log p of every token given features (M, D): (M, vocabulary).
  torch::Tensor log_probabilities(const torch::Tensor& features) {
    return output_.log_probabilities(features);
  }

 protected:
  TokenModel(const TokenOptions& options, int64_t width);

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
