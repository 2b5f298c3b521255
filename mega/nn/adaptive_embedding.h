// The adaptive input embedding of the paper's WikiText-103 model (Baevski and Auli 2019).
#pragma once

#include <vector>

#include "mega/config/models/bands.h"
#include "mega/ops/torch.h"

namespace mega::nn {

// Each band has embeddings of its own width and a projection to the model's width, under the released names
// embeddings.BAND.{0,1}.weight.
class AdaptiveEmbeddingImpl : public torch::nn::Module {
 public:
  AdaptiveEmbeddingImpl(const std::vector<Band>& bands, int64_t width);

  torch::Tensor forward(const torch::Tensor& tokens);  // (...) int64 -> (..., D)

  void reset_parameters();

  const std::vector<Band>& bands() const { return bands_; }
  std::vector<torch::Tensor> embeddings;   // per band: (tokens, band width)
  std::vector<torch::Tensor> projections;  // per band: (D, band width)

 private:
  std::vector<Band> bands_;
  int64_t width_;
};
TORCH_MODULE(AdaptiveEmbedding);

}  // namespace mega::nn
