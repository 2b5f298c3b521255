#include "mega/infer/models/fingerprint.h"

#include "mega/base/files/tensor_hash.h"
#include "mega/base/hash.h"

namespace mega::infer {

uint64_t fingerprint(const ModelFile& file) {
  return hash_tensors(file.tensors.tensors(), hash_text(file.options_text()));
}

}  // namespace mega::infer
