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

// Of positions that a layer attends to, (B, K, H E).
struct KeysValues {
  torch::Tensor keys, values;
};

class TransformerXlLayerImpl : public torch::nn::Module {
 public:
  explicit TransformerXlLayerImpl(const TransformerXlOptions& options);

  // Of inputs (B, K, D) of this layer.
  KeysValues keys_values(const torch::Tensor& x);

  // The sinusoids of distances K - 1 to 0, (K, D) -> (K, H E)
  torch::Tensor project_distances(const torch::Tensor& sinusoids);

  // x (B, Q, D), `all` of the memory and x, projected distances -> (B, Q, D)
  torch::Tensor forward(const torch::Tensor& x, const KeysValues& all, const torch::Tensor& distances,
                        const QueryBiases& biases);

 private:
  torch::Tensor attend(const torch::Tensor& x, const KeysValues& all, const torch::Tensor& distances,
                       const QueryBiases& biases);
  torch::Tensor project(const torch::Tensor& x, int64_t first, int64_t count);  // queries, keys, values
  torch::Tensor attention_input(const torch::Tensor& x);
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

  // Each layer's memory, without gradient, is the `ema` (B, M, D) of its block of the state; where no
  // gradients are asked for, its keys and values are kept beside it, so that they are computed once. In
  // evaluation with a state, tokens are read in segments. Padding must be at the end of texts.
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
  // One segment. `distances` are those of each layer for the segment before; they are replaced where this one
  // needs others.
  torch::Tensor read(const torch::Tensor& tokens, nn::State* state, std::vector<torch::Tensor>& distances);
  void check_memory(const nn::State& state, int64_t batch) const;
  // What the layer sees of x and of the memory in `state`, to which it appends x.
  KeysValues remember(size_t layer, const torch::Tensor& x, nn::GatedAttentionState& state);
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
