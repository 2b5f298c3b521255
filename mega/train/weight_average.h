// A running average of a model's weights (and of its batch norms' statistics).
#pragma once

#include "mega/ops/tensor_file.h"
#include "mega/ops/torch.h"

namespace mega::train {

class WeightAverage {
 public:
  // `memory` 0: no average, and the model's own weights stand for it.
  WeightAverage(torch::nn::Module& model, double memory);

  // After each update. The first ones are remembered less, as if the average had begun with them.
  void add(int64_t update);

  // The weights to evaluate and to keep, by name.
  ops::NamedTensors weights() const;

  // Exchanges the model's weights with the average: before and after an evaluation.
  void swap();

  ops::NamedTensors state() const;
  void load_state(const Safetensors& file);

 private:
  double memory_;
  ops::NamedTensors live_, average_;
};

}  // namespace mega::train
