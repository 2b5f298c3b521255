#include "mega/base/files/tensor_hash.h"

#include <algorithm>
#include <utility>

#include "mega/base/hash.h"
#include "mega/base/strings.h"

namespace mega {

uint64_t hash_tensors(std::vector<TensorView> tensors, uint64_t seed) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
  uint64_t hash = hash_text(std::to_string(tensors.size()), seed);
  for (const TensorView& tensor : tensors) {
    std::vector<std::string> kind = {std::string(to_string(tensor.dtype))};
    for (const int64_t size : tensor.shape) kind.push_back(std::to_string(size));
    hash = hash_text(join(kind, " "), hash_text(tensor.name, hash));
    hash = hash_bytes(tensor.data, hash);
  }
  return hash;
}

uint64_t hash_file(const Metadata& metadata, std::vector<TensorView> tensors) {
  uint64_t hash = 0;
  for (const auto& [key, text] : metadata)
    if (key != kChecksumKey) hash = hash_text(text, hash_text(key, hash));
  return hash_tensors(std::move(tensors), hash);
}

}  // namespace mega
