// A model from its options.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "mega/config/model_options.h"
#include "mega/ops/torch.h"

namespace mega::models {

// Whether this version can build it, or only knows its options.
bool can_make(const ModelOptions& options);
std::shared_ptr<torch::nn::Module> make_model(const ModelOptions& options);

// Number of parameters, in all and by part: embedding, ema, attention, positions, norms, feed-forward, head.
struct ParameterCount {
  int64_t total = 0;
  std::map<std::string, int64_t> parts;
};
ParameterCount count_parameters(const torch::nn::Module& model);

}  // namespace mega::models
