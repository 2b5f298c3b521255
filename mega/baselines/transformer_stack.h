// The layers of a Transformer, including positions, embedding norm and final norm.
#pragma once

#include <vector>

#include "mega/baselines/sinusoidal.h"
#include "mega/baselines/transformer_layer.h"
#include "mega/config/models/transformer_options.h"
#include "mega/nn/stack.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

struct TransformerStackOptions {
  TransformerLayerOptions layer;
  int64_t layers = 0;
  TransformerPositions positions = TransformerPositions::sinusoidal;
  bool normalize_embedding = false;
  bool final_norm = false;
};

// A state holds the keys and values of all tokens so far; padding also counts as positions.
class TransformerStack : public nn::Stack {
 public:
  TransformerStack(const TransformerStackOptions& options, torch::nn::Module& holder);

  torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask, nn::State* state = nullptr,
                        const nn::Source& source = {}) override;

  // As in BERT: weights are normal with standard deviation 0.02, biases zero.
  void reset_parameters();
  // As in fairseq's translation (mega/baselines/transformer_layer.h).
  void reset_parameters_uniformly();

 private:
  TransformerStackOptions options_;
  torch::nn::Module& holder_;
  SinusoidalPositions positions_;
  torch::nn::LayerNorm embedding_norm_{nullptr}, final_norm_{nullptr};
  torch::nn::ModuleList list_;
  std::vector<TransformerLayer> layers_;
};

}  // namespace mega::baselines
