// Transformer-XL (Dai et al. 2019): a language model whose layers attend to what they read in earlier
// segments, with relative positions.
#pragma once

#include <memory>
#include <vector>

#include "mega/config/models/bands.h"
#include "mega/config/models/transformer_xl_options.h"
#include "mega/models/token_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// Biases of queries that all layers share, (H, E): of scores by content, and by distance.
struct QueryBiases {
  torch::Tensor content, distance;
};

class TransformerXlLayerImpl : public torch::nn::Module {
 public:
  explicit TransformerXlLayerImpl(const TransformerXlOptions& options);

  // x (B, Q, D), memory (B, M, D) or undefined, distances (M + Q, D): the sinusoids of distances M + Q - 1 to
  // 0 -> (B, Q, D)
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& memory, const torch::Tensor& distances,
                        const QueryBiases& biases);

 private:
  torch::Tensor attend(const torch::Tensor& x, const torch::Tensor& all, const torch::Tensor& distances,
                       const QueryBiases& biases);
  const SegmentMemory& memory() const { return is_training() ? options_.training : options_.scoring; }

  TransformerXlOptions options_;
  torch::nn::Linear qkv_, distance_, out_, fc1_, fc2_;
  torch::nn::LayerNorm attention_norm_, final_norm_;
};
TORCH_MODULE(TransformerXlLayer);

// Parameters have the names of the published program.
class TransformerXlImpl : public models::TokenModel {
 public:
  explicit TransformerXlImpl(const TransformerXlOptions& options);

  // Each layer's memory, without gradient, is the `ema` (B, M, D) of its block of the state. In evaluation
  // with a state, tokens are read in segments. Padding must be at the end of texts.
  torch::Tensor features(const torch::Tensor& tokens, const torch::Tensor& mask = {},
                         nn::State* state = nullptr) override;
  torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets) override;
  torch::Tensor log_probabilities(const torch::Tensor& features) override;

  void reset_parameters();

 private:
  // Features of a band's softmax, its weights and its biases.
  struct BandInput {
    torch::Tensor x, weight, bias;
  };

  torch::Tensor embed(const torch::Tensor& tokens);
  torch::Tensor read(const torch::Tensor& tokens, nn::State* state);  // one segment
  BandInput band_input(const torch::Tensor& features, size_t band);
  torch::Tensor band_log_probabilities(const torch::Tensor& features, size_t band);
  // Of a band of rarer tokens, among the scores of the frequent ones.
  int64_t band_column(size_t band) const;

  TransformerXlOptions options_;
  std::vector<Band> bands_;
  std::vector<torch::Tensor> embeddings_, projections_, out_projections_, out_biases_;  // of each band
  torch::Tensor band_weight_, band_bias_;  // the choice among bands of rarer tokens
  QueryBiases biases_;
  std::vector<TransformerXlLayer> layers_;
};
TORCH_MODULE(TransformerXl);

}  // namespace mega::baselines
