#include "mega/config/parameter_count.h"

namespace mega {

ParameterCount count_parameters(const ModelOptions& options) {
  ParameterCount count;
  for (const TensorInfo& tensor : options.kind().tensors()) {
    if (!tensor.is_parameter || !tensor.tied_to.empty()) continue;
    count.total += tensor.elements();
    count.parts[std::string(to_string(tensor.part))] += tensor.elements();
  }
  return count;
}

std::map<std::string, std::map<DType, int64_t>> stored_bytes(const ModelFile& file) {
  std::map<std::string, std::string> parts;
  for (const TensorInfo& tensor : file.options.kind().tensors()) {
    const std::string part(to_string(tensor.part));
    parts[tensor.name] = part;
    parts[scale_name(tensor.name)] = part;
  }
  std::map<std::string, std::map<DType, int64_t>> bytes;
  for (const TensorView& tensor : file.tensors.tensors()) {
    const auto found = parts.find(tensor.name);
    bytes[found == parts.end() ? "input" : found->second][tensor.dtype] +=
        static_cast<int64_t>(tensor.data.size());
  }
  return bytes;
}

}  // namespace mega
