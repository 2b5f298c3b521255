// An exponential moving average of a model's weights (and of its batch norm statistics).
#pragma once

#include "mega/ops/tensor_file.h"
#include "mega/ops/torch.h"

namespace mega::train {

class WeightAverage {
 public:
  // `memory`: EMA decay; 0: no average, use the model's own weights.
  WeightAverage(torch::nn::Module& model, double memory);

  // Call after each update. The decay is lower for the first updates, so that the initial weights fade
  // quickly.
  void add(int64_t update);

  // The weights to evaluate and save, by name.
  ops::NamedTensors weights() const;

  // Swaps the model's weights with the average; call before and after an evaluation.
  void swap();

  ops::NamedTensors state() const;
  void load_state(const Safetensors& file);

 private:
  double memory_;
  ops::NamedTensors live_, average_;
};

}  // namespace mega::train
