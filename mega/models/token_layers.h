// What every language model begins and ends with: the embedding of tokens, and the output layer.
#pragma once

#include "mega/config/language_options.h"
#include "mega/nn/adaptive_embedding.h"
#include "mega/nn/adaptive_softmax.h"
#include "mega/ops/torch.h"

namespace mega::models {

// Embeddings scaled by sqrt(D), plain or in bands, and projected where they are not as wide as the model. Its
// parameters are registered in `decoder` under the released names embed_tokens and project_in_dim.
class TokenEmbedding {
 public:
  TokenEmbedding(const TokenOptions& options, int64_t width, torch::nn::Module& decoder);

  torch::Tensor forward(const torch::Tensor& tokens);  // (B, L) int64 -> (B, L, D)

 private:
  friend class TokenOutput;

  int64_t vocabulary_;
  double scale_;
  torch::Tensor weight_;                     // (V, width of embeddings); undefined with bands
  torch::Tensor projection_;                 // (D, width of embeddings); undefined for none
  nn::AdaptiveEmbedding adaptive_{nullptr};  // empty without bands
};

// The distribution of the next token: a softmax with weights of its own or with the embeddings, or an
// adaptive softmax. Its parameters are registered in `decoder` under the released names output_projection and
// adaptive_softmax.
class TokenOutput {
 public:
  TokenOutput(const TokenOptions& options, int64_t width, const TokenEmbedding& embedding,
              torch::nn::Module& decoder);

  // As in TokenModel.
  torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets);
  torch::Tensor log_probabilities(const torch::Tensor& features);

 private:
  torch::Tensor weight_;                   // (V, D); undefined with bands
  nn::AdaptiveSoftmax adaptive_{nullptr};  // empty without bands
};

}  // namespace mega::models
