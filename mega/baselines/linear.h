// The simplest baseline: a linear classifier on the bag of a text's n-grams. It trains in seconds, and on
// many texts a sequence model needs long to beat it.
#pragma once

#include <vector>

#include "mega/config/models/linear_options.h"
#include "mega/models/sequence_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// outputs = bias + sum over all n-grams g of weight[hash(g)] / sqrt(number of n-grams). The root makes long
// texts no louder than short ones, as the length of a vector of counts is about the root of its sum.
class LinearImpl : public models::SequenceModel {
 public:
  explicit LinearImpl(const LinearOptions& options);

  torch::Tensor predict(const std::vector<models::Sequences>& documents) override;

 private:
  LinearOptions options_;
  torch::Tensor weight_;  // (buckets, classes)
  torch::Tensor bias_;    // (classes)
};
TORCH_MODULE(Linear);

}  // namespace mega::baselines
