// Stochastic depth (Huang et al. 2016) by example: in training, what a sublayer adds is left out at random.
#pragma once

#include "mega/ops/torch.h"

namespace mega::nn {

class DropPathImpl : public torch::nn::Module {
 public:
  explicit DropPathImpl(double rate) : rate_(rate) {}

  // A factor for each example of x (B, ...), (B): 0 with probability `rate`, else 1 / (1 - rate). Undefined
  // where nothing is left out.
  torch::Tensor draw(const torch::Tensor& x) const;

  // x + factor * branch, both (B, ...).
  torch::Tensor add(const torch::Tensor& x, const torch::Tensor& branch) const;

  // Takes the place of what draw() would draw, so that a test knows it.
  torch::Tensor fixed;

 private:
  double rate_;
};
TORCH_MODULE(DropPath);

// The rate of block `index` of `count`: none for the first, `rate` for the last, linear between them.
double drop_path_rate(double rate, int64_t index, int64_t count);

}  // namespace mega::nn
