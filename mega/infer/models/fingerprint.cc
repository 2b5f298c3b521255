#include "mega/infer/models/fingerprint.h"

#include <nlohmann/json.hpp>

#include "mega/base/hash.h"
#include "mega/base/options_io.h"
#include "mega/base/tensor_hash.h"

namespace mega::infer {

uint64_t fingerprint(const ModelFile& file) {
  return hash_tensors(file.tensors.tensors(), hash_text(options_to_json(file.options).dump()));
}

}  // namespace mega::infer
