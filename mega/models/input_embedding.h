// From what a sequence is made of to vectors: a row for each token, or x * weight + bias for real numbers.
#pragma once

#include "mega/config/classifier_options.h"
#include "mega/ops/torch.h"

namespace mega::models {

class InputEmbeddingImpl : public torch::nn::Module {
 public:
  // token_deviation: of a token's initial numbers, which are normal.
  InputEmbeddingImpl(const SequenceOptions& options, int64_t width, double token_deviation);

  torch::Tensor forward(const torch::Tensor& values);  // (B, L) or (B, L, channels) -> (B, L, D)

  void reset_parameters();

 private:
  InputKind input_;
  int64_t channels_, vocabulary_;
  double token_deviation_;
  torch::Tensor weight_, bias_;  // (vocabulary, D); or (D), with several channels (channels, D), and (D)
};
TORCH_MODULE(InputEmbedding);

}  // namespace mega::models
