// The optimiser of the released implementation: Adam with decoupled weight decay on every parameter, and
// clipping by the global gradient norm.
#pragma once

#include <string>
#include <vector>

#include "mega/config/recipe/train_options.h"
#include "mega/config/tensor_info.h"
#include "mega/distributed/gradient_sum.h"
#include "mega/distributed/parameter_shares.h"
#include "mega/ops/tensor_file.h"
#include "mega/ops/torch.h"

namespace mega::train {

// Differs from libtorch's AdamW, which adds epsilon to the bias-corrected root of the second moment; here it
// is added to the raw one, as in the released implementation:
//   p -= lr wd p;  p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)
// With options.corrected_epsilon it is libtorch's: eps becomes eps sqrt(1 - beta2^t).
class AdamW {
 public:
  AdamW(std::vector<torch::Tensor> parameters, const TrainOptions& options);
  // `options.groups` match by name; later groups win, and a group that matches nothing is an Error.
  // What no group matches learns as the table of the model's tensors says: with or without weight decay, with
  // the recipe's learning rate or a highest rate of its own, on which the schedule works alike.
  // With `shares`, which must outlive it, each process has the moments of its own numbers alone and updates
  // these; step() and state() are then called by all processes.
  AdamW(const ops::NamedTensors& parameters, const TrainOptions& options,
        const std::vector<TensorInfo>& tensors = {}, const distributed::ParameterShares* shares = nullptr);

  // Clips the gradients to `options.clip` (0: off), updates with the given learning rate, and returns the
  // gradient norm before clipping. If that is not finite, nothing is updated. With `own`, these are the
  // gradients, of which each process has its part.
  double step(double learning_rate, const distributed::OwnGradients* own = nullptr);
  void zero_gradients();

  // Both moments of every parameter and the number of updates: the training state of the optimiser. Where it
  // is shared, rank 0 has them all, and the others none.
  ops::NamedTensors state() const;
  void load_state(const Safetensors& file);

 private:
  distributed::Piece own_numbers(size_t parameter) const;
  std::vector<torch::Tensor> own_gradients(const distributed::OwnGradients* own, double& norm) const;
  void share_parameters();
  std::vector<torch::Tensor> whole(const std::vector<torch::Tensor>& moments) const;

  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> means_, squares_;  // a row for each parameter, of the numbers that are own
  std::vector<std::string> names_;
  std::vector<ParameterGroup> factors_;  // one per parameter
  TrainOptions options_;
  const distributed::ParameterShares* shares_;
  int64_t updates_ = 0;
};

}  // namespace mega::train
