// The Transformer that the paper compares with on sequence classification.
#pragma once

#include <vector>

#include "mega/config/model_options.h"
#include "mega/models/input_embedding.h"
#include "mega/models/sequence_classifier.h"
#include "mega/ops/torch.h"
#include "mega/peers/multi_head_attention.h"
#include "mega/peers/sinusoidal.h"

namespace mega::peers {

// Attention and feed-forward, each followed by a layer norm of its sum with its input (postnorm).
class TransformerLayerImpl : public torch::nn::Module {
 public:
  explicit TransformerLayerImpl(const TransformerOptions& options);

  // x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D)
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask);

 private:
  TransformerOptions options_;
  MultiHeadAttention self_attn_;
  torch::nn::LayerNorm self_attn_layer_norm_, final_layer_norm_;
  torch::nn::Linear fc1_, fc2_;
};
TORCH_MODULE(TransformerLayer);

// The released encoder: tokens scaled by sqrt(D), plus positions, a layer norm, the layers, no final norm.
// It reads tokens only; real numbers are here embedded as in Mega's encoder, unscaled, plus positions.
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

}  // namespace mega::peers
