// A Mega model from its options; mega/peers/factory.h also makes those that it is compared with.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "mega/config/model_options.h"
#include "mega/models/sequence_model.h"
#include "mega/ops/torch.h"

namespace mega::models {

// A classifier or matcher.
std::shared_ptr<SequenceModel> make_model(const ModelOptions& options);

// Number of parameters, in all and by part: embedding, ema, attention, positions, norms, feed-forward, head.
struct ParameterCount {
  int64_t total = 0;
  std::map<std::string, int64_t> parts;
};
ParameterCount count_parameters(const torch::nn::Module& model);

}  // namespace mega::models
