#include "mega/config/files/checkpoint_files.h"

#include <cstdio>

#include "mega/base/files/tensor_hash.h"
#include "mega/base/hash.h"
#include "mega/base/strings.h"

namespace mega {

std::string checkpoint_name(int64_t update) {
  char text[24];
  std::snprintf(text, sizeof text, "%08lld", static_cast<long long>(update));
  return text;
}

std::string checkpoint_hash(const std::string& state, const std::vector<TensorView>& model,
                            const std::vector<TensorView>& training) {
  return hexadecimal(hash_tensors(training, hash_tensors(model, hash_text(state))));
}

void write_training_file(const std::filesystem::path& path, const std::string& state,
                         const std::vector<TensorView>& model, const std::vector<TensorView>& training) {
  write_safetensors(path, training,
                    {{kTrainingState, state}, {kTrainingHash, checkpoint_hash(state, model, training)}});
}

}  // namespace mega
