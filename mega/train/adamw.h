// The released optimiser: Adam with decoupled weight decay on every parameter, and clipping by the global
// norm.
#pragma once

#include <string>
#include <vector>

#include "mega/config/train_options.h"
#include "mega/ops/tensor_file.h"
#include "mega/ops/torch.h"

namespace mega::train {

// Not libtorch's AdamW: there epsilon is added to the bias-corrected root of the second moment, here to the
// raw one, as in the implementation the published numbers came from:
//   p -= lr wd p;  p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)
class AdamW {
 public:
  AdamW(std::vector<torch::Tensor> parameters, const TrainOptions& options);
  // With names, `options.groups` applies; a later group wins, and one that matches nothing is an Error.
  AdamW(const ops::NamedTensors& parameters, const TrainOptions& options);

  // Clips the gradients to `options.clip` (0: not at all), updates with the given learning rate, and returns
  // the gradients' norm before clipping. Where that is not finite nothing is updated.
  double step(double learning_rate);
  void zero_gradients();

  // Both moments of every parameter, and the number of updates: what a resumed run needs.
  ops::NamedTensors state() const;
  void load_state(const Safetensors& file);

 private:
  std::vector<torch::Tensor> parameters_, means_, squares_;
  std::vector<std::string> names_;
  std::vector<ParameterGroup> factors_;  // one per parameter
  TrainOptions options_;
  int64_t updates_ = 0;
};

}  // namespace mega::train
