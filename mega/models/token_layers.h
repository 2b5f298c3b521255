// The first and last layer of every model that writes text: token embedding and output layer.
#pragma once

#include "mega/config/models/language_options.h"
#include "mega/nn/adaptive_embedding.h"
#include "mega/nn/adaptive_softmax.h"
#include "mega/ops/torch.h"

namespace mega::models {

// Embeddings scaled by sqrt(D), plain or in adaptive bands, and projected if their width is not D. Parameters
// are registered in the holder under the released names embed_tokens and project_in_dim.
class TokenEmbedding {
 public:
  TokenEmbedding(const TokenOptions& options, int64_t width, torch::nn::Module& decoder);
  // A plain one. A copy shares its parameter, which stays registered where it was.
  TokenEmbedding(int64_t vocabulary, int64_t width, bool scaled, torch::nn::Module& holder);

  torch::Tensor forward(const torch::Tensor& tokens);  // (B, L) int64 -> (B, L, D)

 private:
  friend class TokenOutput;

  int64_t vocabulary_;
  double scale_;
  torch::Tensor weight_;                     // (V, embedding width); undefined with bands
  torch::Tensor projection_;                 // (D, embedding width); undefined for none
  nn::AdaptiveEmbedding adaptive_{nullptr};  // empty without bands
};

// The distribution of the next token: a softmax with its own weights or tied to the embeddings, or an
// adaptive softmax. Parameters are registered in `decoder` under the released names output_projection and
// adaptive_softmax. A layer with tanh may come before it, as output_dense.
class TokenOutput {
 public:
  TokenOutput(const TokenOptions& options, int64_t width, const TokenEmbedding& embedding,
              torch::nn::Module& decoder);
  // Plain softmaxes: tied to a plain embedding, or with weights of their own.
  explicit TokenOutput(const TokenEmbedding& embedding) : weight_(embedding.weight_) {}
  TokenOutput(int64_t vocabulary, int64_t width, torch::nn::Module& decoder);

  // As in TokenModel. An adaptive softmax has no label smoothing.
  torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets, double smoothing = 0.0);
  torch::Tensor log_probabilities(const torch::Tensor& features);

 private:
  torch::Tensor before(const torch::Tensor& features) const;  // (M, D) -> (M, D), the input of the softmax

  torch::Tensor dense_, dense_bias_;       // (D, D), (D); undefined for none
  torch::Tensor bias_;                     // (V); undefined for none
  torch::Tensor weight_;                   // (V, D); undefined with bands
  nn::AdaptiveSoftmax adaptive_{nullptr};  // empty without bands
};

}  // namespace mega::models
