// The Transformer that the paper compares with on sequence classification.
#pragma once

#include <vector>

#include "mega/baselines/sinusoidal.h"
#include "mega/baselines/transformer_layer.h"
#include "mega/config/model_options.h"
#include "mega/models/input_embedding.h"
#include "mega/models/sequence_classifier.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// The released encoder: tokens scaled by sqrt(D), plus positions, a layer norm, postnorm layers, no final
// norm. It reads tokens only; real numbers are here embedded as in Mega's encoder, unscaled, plus positions.
class TransformerEncoderImpl : public torch::nn::Module {
 public:
  explicit TransformerEncoderImpl(const TransformerOptions& options);

  torch::Tensor forward(const models::Sequences& batch);  // (B, D)

  // As BERT: weights are normal with deviation 0.02, biases zero. Real numbers' embedding is Mega's.
  void reset_parameters();

 private:
  TransformerOptions options_;
  models::InputEmbedding embedding_;
  SinusoidalPositions positions_;
  torch::nn::LayerNorm embedding_norm_{nullptr};
  std::vector<TransformerLayer> layers_;
};
TORCH_MODULE(TransformerEncoder);

// Of one document, or of two that go through the same encoder.
class TransformerImpl : public models::SequenceClassifier {
 public:
  explicit TransformerImpl(const TransformerOptions& options);

  torch::Tensor encode(const models::Sequences& document) override { return encoder_->forward(document); }

 private:
  TransformerEncoder encoder_;
};
TORCH_MODULE(Transformer);

}  // namespace mega::baselines
