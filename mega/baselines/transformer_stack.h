// The layers of a Transformer, with what it does to embeddings before the first and to features after the last.
#pragma once

#include <vector>

#include "mega/baselines/sinusoidal.h"
#include "mega/baselines/transformer_layer.h"
#include "mega/config/transformer_options.h"
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

// A state holds the keys and values of everything read so far; positions count padding too.
class TransformerStack : public nn::Stack {
 public:
  TransformerStack(const TransformerStackOptions& options, torch::nn::Module& holder);

  torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask, nn::State* state = nullptr,
                        const nn::Source& source = {}) override;

  // As BERT: weights are normal with deviation 0.02, biases zero.
  void reset_parameters();

 private:
  TransformerStackOptions options_;
  torch::nn::Module& holder_;
  SinusoidalPositions positions_;
  torch::nn::LayerNorm embedding_norm_{nullptr}, final_norm_{nullptr};
  torch::nn::ModuleList list_;
  std::vector<TransformerLayer> layers_;
};

}  // namespace mega::baselines
