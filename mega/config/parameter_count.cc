#include "mega/config/parameter_count.h"

#include <string_view>

namespace mega {
namespace {

constexpr std::string_view kScale = "_scale";  // after the name of a quantized matrix

std::string part_of(std::string_view name) {
  const auto has = [&](std::string_view piece) { return name.find(piece) != std::string_view::npos; };
  if (name.starts_with("signature.") || name == "vocabulary") return "input";
  if (has("embed_tokens.")) return "embedding";
  if (has("norm.")) return "norms";
  if (has(".rel_pos_bias.")) return "positions";
  if (has(".move.")) return "ema";
  if (has(".mega_layer.") || has(".self_attn.")) return "attention";
  if (has(".cross_attn.")) return "cross attention";
  if (has(".nffn.") || has(".fc1.") || has(".fc2.")) return "feed-forward";
  return "head";
}

// What stands in a file beside the parameters: running statistics, a fixed slope, scales.
bool is_parameter(const TensorView& tensor) {
  const std::string_view name = tensor.name;
  if (part_of(name) == "input") return false;
  for (const std::string_view end : {".running_mean", ".running_var", ".num_batches_tracked", ".slope"})
    if (name.ends_with(end)) return false;
  return !name.ends_with(kScale);
}

}  // namespace

void ParameterCount::add(const std::string& name, int64_t parameters) {
  total += parameters;
  parts[part_of(name)] += parameters;
}

ParameterCount count_parameters(const Safetensors& file) {
  ParameterCount count;
  for (const TensorView& tensor : file.tensors())
    if (is_parameter(tensor)) count.add(tensor.name, tensor.elements());
  return count;
}

std::map<std::string, std::map<DType, int64_t>> stored_bytes(const Safetensors& file) {
  std::map<std::string, std::map<DType, int64_t>> parts;
  for (const TensorView& tensor : file.tensors())
    parts[part_of(tensor.name)][tensor.dtype] += static_cast<int64_t>(tensor.data.size());
  return parts;
}

}  // namespace mega
