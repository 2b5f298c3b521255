// Transformer-XL (Dai et al. 2019): a language model whose layers attend to what they read in earlier
// segments, with relative positions.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "mega/config/models/language_options.h"
#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// By default the size that was published for enwik8.
struct TransformerXlOptions {
  int64_t vocabulary = 204;
  int64_t layers = 12;
  int64_t width = 512;
  int64_t heads = 8;
  int64_t head_width = 64;
  int64_t hidden = 2048;
  int64_t memory = 512;          // positions of earlier segments that a layer keeps
  int64_t clamp = 0;             // larger distances count as this one; 0: none
  bool same_length = false;      // every query sees as many keys
  bool prenorm = false;          // normalise the input of each sublayer instead of its output
  std::vector<int64_t> cutoffs;  // adaptive input and softmax: where each band of rarer tokens begins
  int64_t band_factor = 1;       // each band's embeddings are this much narrower than the one before
  double dropout = 0.1;
};

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

  TransformerXlOptions options_;
  torch::nn::Linear qkv_, distance_, out_, fc1_, fc2_;
  torch::nn::LayerNorm attention_norm_, final_norm_;
};
TORCH_MODULE(TransformerXlLayer);

// Parameters have the names of the published program.
class TransformerXlImpl : public torch::nn::Module {
 public:
  explicit TransformerXlImpl(const TransformerXlOptions& options);

  // tokens (B, L) int64 -> (B, L, D). With a state, tokens continue its texts: each layer's memory, without
  // gradient, is the `keys` of its block.
  torch::Tensor features(const torch::Tensor& tokens, nn::State* state = nullptr);

  // -log p of each target (M) given its features (M, D): (M).
  torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets);

  // log p of every token given features (M, D): (M, vocabulary).
  torch::Tensor log_probabilities(const torch::Tensor& features);

  void reset_parameters();

 private:
  // Tokens from the begin to the end of each band.
  std::vector<std::pair<int64_t, int64_t>> bands() const;
  torch::Tensor embed(const torch::Tensor& tokens);
  torch::Tensor band_logits(const torch::Tensor& features, size_t band);

  TransformerXlOptions options_;
  std::vector<torch::Tensor> embeddings_, projections_, out_projections_, out_biases_;  // of each band
  torch::Tensor band_weight_, band_bias_;  // the choice among bands of rarer tokens
  QueryBiases biases_;
  std::vector<TransformerXlLayer> layers_;
};
TORCH_MODULE(TransformerXl);

}  // namespace mega::baselines
