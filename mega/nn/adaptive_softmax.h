// The adaptive softmax (Grave et al. 2017), sharing the weights of an adaptive input embedding.
#pragma once

#include <vector>

#include "mega/nn/adaptive_embedding.h"
#include "mega/ops/torch.h"

namespace mega::nn {

struct AdaptiveSoftmaxOptions {
  double dropout = 0.0;         // on the features and inside the tails
  bool tie_projections = true;  // tails use the embedding's projections
  bool released_loss =
      false;  // in training, a target that is token 1 of its tail contributes its head term only
};

// The head selects a frequent token or one of the tails (the rarer bands); a tail then selects its token:
//   log p(w in tail i) = log softmax(head)[i] + log softmax(tail i)[w]
// Its own parameters have the released names head.class_proj and, without tied projections, tail.I.0.
class AdaptiveSoftmaxImpl : public torch::nn::Module {
 public:
  // Shares the parameters of `embedding`; `width` is D.
  AdaptiveSoftmaxImpl(const AdaptiveEmbedding& embedding, int64_t width,
                      const AdaptiveSoftmaxOptions& options);

  // x (M, D), targets (M) int64 -> (M), -log p, except for the term that the released loss drops in training.
  torch::Tensor losses(const torch::Tensor& x, const torch::Tensor& targets);

  torch::Tensor log_probabilities(const torch::Tensor& x);  // (M, D) -> (M, V)

  void reset_parameters();

 private:
  torch::Tensor head_weight() const;  // frequent tokens, then tails: (tokens + tails, D)
  torch::Tensor reduce(const torch::Tensor& x, size_t tail);  // (M, D) -> (M, band width)

  AdaptiveEmbedding embedding_;
  std::vector<Band> bands_;
  AdaptiveSoftmaxOptions options_;
  torch::Tensor class_projection_;          // (tails, D)
  std::vector<torch::Tensor> projections_;  // of the tails, (band width, D), if not tied
};
TORCH_MODULE(AdaptiveSoftmax);

}  // namespace mega::nn
