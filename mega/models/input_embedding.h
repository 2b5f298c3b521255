// Input embedding: one row per token, or x * weight + bias for real-valued inputs.
#pragma once

#include "mega/config/models/classifier_options.h"
#include "mega/ops/torch.h"

namespace mega::models {

class InputEmbeddingImpl : public torch::nn::Module {
 public:
  // token_deviation: standard deviation of the normal initialisation of token embeddings.
  InputEmbeddingImpl(const SequenceOptions& options, int64_t width, double token_deviation);

  torch::Tensor forward(const torch::Tensor& values);  // (B, L) or (B, L, channels) -> (B, L, D)

  void reset_parameters();

 private:
  InputKind input_;
  int64_t channels_, vocabulary_;
  double token_deviation_;
  torch::Tensor weight_, bias_;  // (vocabulary, D); or (D) or (channels, D), and (D)
};
TORCH_MODULE(InputEmbedding);

}  // namespace mega::models
