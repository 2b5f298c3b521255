// The common interface of models that predict the next token, for training, scoring and generation.
#pragma once

#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::models {

class TokenModel : public torch::nn::Module {
 public:
  // tokens (B, L) int64, mask (B, L) bool with true = padding, or undefined -> (B, L, D), the input of the
  // output layer. With a state, tokens continue its texts; a failed call leaves the state unchanged.
  virtual torch::Tensor features(const torch::Tensor& tokens, const torch::Tensor& mask = {},
                                 nn::State* state = nullptr) = 0;

  // -log p of each target (M) given its features (M, D): (M). Differentiable; in training mode with dropout
  // and the training loss. Never materialises M x vocabulary values at once.
  virtual torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets) = 0;

  // log p of every token given features (M, D): (M, vocabulary).
  virtual torch::Tensor log_probabilities(const torch::Tensor& features) = 0;
};

}  // namespace mega::models
