// A model that predicts the next token: what training, scoring and generation know of it, and what all of
// them have in common.
#pragma once

#include <memory>

#include "mega/config/model_options.h"
#include "mega/models/token_layers.h"
#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::models {

// Kinds of models differ in what stands between embedding and output.
class TokenModel : public torch::nn::Module {
 public:
  // tokens (B, L) int64, mask (B, L) bool with true = padding, or undefined -> (B, L, D), before the output
  // layer. With a state, tokens continue the texts it describes; a call that fails leaves it as it was.
  torch::Tensor features(const torch::Tensor& tokens, const torch::Tensor& mask = {},
                         nn::State* state = nullptr);

  // -log p of each target (M) given its features (M, D): (M). Differentiable; in training mode with the
  // dropout and the loss of training. Never holds M x vocabulary numbers at once.
  torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets) {
    return output_.losses(features, targets);
  }

  // log p of every token given features (M, D): (M, vocabulary).
  torch::Tensor log_probabilities(const torch::Tensor& features) {
    return output_.log_probabilities(features);
  }

 protected:
  TokenModel(const TokenOptions& options, int64_t width);

  // From embeddings x (B, L, D) to features; a state has an entry for each of the layers.
  virtual torch::Tensor read(torch::Tensor x, const torch::Tensor& mask, nn::State* state) = 0;

  // x (B, L, D) with zeros at padding.
  static torch::Tensor zero_padding(const torch::Tensor& x, const torch::Tensor& mask);

  // Holds everything, as in the released model.
  torch::nn::Module& decoder() { return *decoder_; }

 private:
  size_t layers_;
  std::shared_ptr<torch::nn::Module> decoder_;
  TokenEmbedding embedding_;
  TokenOutput output_;
};

}  // namespace mega::models
