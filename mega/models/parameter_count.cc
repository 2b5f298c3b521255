#include "mega/models/parameter_count.h"

namespace mega::models {
namespace {

// The part of a model that a parameter belongs to, by its released name.
std::string part_of(const std::string& name) {
  const auto has = [&](const char* piece) { return name.find(piece) != std::string::npos; };
  if (has("embed_tokens.")) return "embedding";
  if (has("norm.")) return "norms";
  if (has(".rel_pos_bias.")) return "positions";
  if (has(".move.")) return "ema";
  if (has(".mega_layer.") || has(".self_attn.")) return "attention";
  if (has(".cross_attn.")) return "cross attention";
  if (has(".nffn.") || has(".fc1.") || has(".fc2.")) return "feed-forward";
  return "head";
}

}  // namespace

ParameterCount count_parameters(const torch::nn::Module& model) {
  ParameterCount count;
  for (const auto& item : model.named_parameters()) {
    count.total += item.value().numel();
    count.parts[part_of(item.key())] += item.value().numel();
  }
  return count;
}

}  // namespace mega::models
