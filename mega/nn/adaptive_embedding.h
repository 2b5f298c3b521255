// The adaptive input of the paper's WikiText-103 model (Baevski and Auli 2019).
#pragma once

#include <vector>

#include "mega/nn/bands.h"
#include "mega/ops/torch.h"

namespace mega::nn {

// Each band has embeddings of its own width and a projection to the model's, under the released names
// embeddings.BAND.{0,1}.weight.
class AdaptiveEmbeddingImpl : public torch::nn::Module {
 public:
  // `released`: token 1 of every band is taken for padding, not only that of the first: it starts at zero,
  // and looking it up has no gradient.
  AdaptiveEmbeddingImpl(const std::vector<Band>& bands, int64_t width, bool released = false);

  torch::Tensor forward(const torch::Tensor& tokens);  // (...) int64 -> (..., D)

  void reset_parameters();

  const std::vector<Band>& bands() const { return bands_; }
  std::vector<torch::Tensor> embeddings;   // of each band (tokens, its width)
  std::vector<torch::Tensor> projections;  // (D, its width)

 private:
  int64_t padding_of(size_t band) const;

  std::vector<Band> bands_;
  int64_t width_;
  bool released_;
};
TORCH_MODULE(AdaptiveEmbedding);

}  // namespace mega::nn
