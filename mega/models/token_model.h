// What training, scoring and generation know of a model that predicts the next token.
#pragma once

#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::models {

class TokenModel : public torch::nn::Module {
 public:
  // tokens (B, L) int64, mask (B, L) bool with true = padding, or undefined -> (B, L, D), before the output
  // layer. With a state, tokens continue the texts it describes.
  virtual torch::Tensor features(const torch::Tensor& tokens, const torch::Tensor& mask = {},
                                 nn::State* state = nullptr) = 0;

  // -log p of each target (M) given its features (M, D): (M). Differentiable; in training mode with the
  // dropout and the loss of training. Never holds M x vocabulary numbers at once.
  virtual torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets) = 0;

  // log p of every token given features (M, D): (M, vocabulary).
  virtual torch::Tensor log_probabilities(const torch::Tensor& features) = 0;
};

}  // namespace mega::models
