// The adaptive softmax (Grave et al. 2017) with the embeddings of an adaptive input as its weights.
#pragma once

#include <vector>

#include "mega/nn/adaptive_embedding.h"
#include "mega/ops/torch.h"

namespace mega::nn {

struct AdaptiveSoftmaxOptions {
  double dropout = 0.0;         // of the features, and inside the tails
  bool tie_projections = true;  // tails project with the embedding's projections
  bool released_loss =
      false;  // in training, a target that is token 1 of its tail counts with its head term only
};

// The head chooses a frequent token or one of the tails, the rarer bands; a tail then chooses its token:
//   log p(w in tail i) = log softmax(head)[i] + log softmax(tail i)[w]
// Parameters of its own, under the released names: head.class_proj, and tail.I.0 without tied projections.
class AdaptiveSoftmaxImpl : public torch::nn::Module {
 public:
  // Shares the parameters of `embedding`, whose bands are as wide as the features allow.
  AdaptiveSoftmaxImpl(const AdaptiveEmbedding& embedding, int64_t width,
                      const AdaptiveSoftmaxOptions& options);

  // x (M, D), targets (M) int64 -> (M), -log p. With the released loss, an exception to that in training.
  torch::Tensor losses(const torch::Tensor& x, const torch::Tensor& targets);

  torch::Tensor log_probabilities(const torch::Tensor& x);  // (M, D) -> (M, V)

  void reset_parameters();

 private:
  torch::Tensor head_weight() const;  // of the frequent tokens, then of each tail (tokens + tails, D)
  torch::Tensor reduce(const torch::Tensor& x, size_t tail);  // (M, D) -> (M, width of the band)

  AdaptiveEmbedding embedding_;
  std::vector<Band> bands_;
  AdaptiveSoftmaxOptions options_;
  torch::Tensor class_projection_;          // (tails, D)
  std::vector<torch::Tensor> projections_;  // of the tails (width of the band, D), where they have their own
};
TORCH_MODULE(AdaptiveSoftmax);

}  // namespace mega::nn
