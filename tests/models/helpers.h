// Shared by model tests: small random batches, and weights large enough to matter.
#pragma once

#include <vector>

#include "mega/config/model_options.h"
#include "mega/ops/torch.h"

namespace mega::testing {

// Initial weights are so small that a wrong score would hardly be noticed; these are larger.
template <class Model>
Model with_large_weights(Model model) {
  const torch::NoGradGuard guard;
  for (torch::Tensor& parameter : model->parameters()) parameter.add_(torch::randn_like(parameter), 0.3);
  model->eval();
  return model;
}

inline torch::Tensor random_tokens(int64_t batch, int64_t length) {
  return torch::randint(2, 12, {batch, length}, torch::kInt64);
}

inline torch::Tensor lengths(std::vector<int64_t> values) { return torch::tensor(values, torch::kInt64); }

inline double difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

inline LanguageModelOptions tiny_language_model(int64_t vocabulary, int64_t chunk) {
  LanguageModelOptions options;
  options.vocabulary = vocabulary;
  options.layers = 2;
  options.block.width = 16;
  options.block.values = 24;
  options.block.shared = 8;
  options.block.hidden = 24;
  options.block.ema.dimension = 4;
  options.block.position = PositionKind::rotary;
  options.block.prenorm = true;
  options.block.chunk = chunk;
  return options;
}

}  // namespace mega::testing
