// Any bytes as a model file: either they are one, with every tensor inside the bytes, or there is an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "mega/base/error.h"
#include "mega/base/files/safetensors.h"
#include "mega/config/files/model_file.h"

namespace {

void check(bool ok) {
  if (!ok) std::abort();
}

void check_tensors(const mega::Safetensors& file, std::span<const std::byte> bytes) {
  size_t total = 0;
  for (const mega::TensorView& tensor : file.tensors()) {
    check(tensor.data.data() >= bytes.data());
    check(tensor.data.data() + tensor.data.size() <= bytes.data() + bytes.size());
    int64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= size;
    check(elements == tensor.elements());
    check(file.find(tensor.name) == &tensor);
    total += tensor.data.size();
  }
  check(total <= bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const mega::Safetensors file = mega::Safetensors::parse(bytes, "fuzz");
    check_tensors(file, bytes);
    // Most files stop here; the metadata of the others is read as a model's.
    check_tensors(mega::ModelFile::parse(bytes, "fuzz").tensors, bytes);
  } catch (const mega::Error&) {
  }
  return 0;
}
