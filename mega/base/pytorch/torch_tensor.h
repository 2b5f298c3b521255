// Tensors of PyTorch's files: views into storages, which are arrays of one type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/files/safetensors.h"

namespace mega {

struct TorchStorage {
  std::string_view key;  // its name inside the file
  DType dtype = DType::F32;
  int64_t elements = 0;
  std::span<const std::byte> data;  // elements times their size; little endian; may be misaligned
};

// Element (i, j, ...) is storage[offset + i * strides[0] + j * strides[1] + ...].
class TorchTensor {
 public:
  // Error unless every element lies inside the storage, which must outlive the tensor.
  TorchTensor(const TorchStorage& storage, int64_t offset, std::vector<int64_t> shape,
              std::vector<int64_t> strides);

  DType dtype() const { return storage_->dtype; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  const TorchStorage& storage() const { return *storage_; }

  // Its first `count` rows, in the same storage.
  TorchTensor first(int64_t count) const;

  // The bytes of all elements, where they lie in order (row major) as they are; else none.
  std::optional<std::span<const std::byte>> contiguous() const;

  // Elements begin, begin + 1, ... in row-major order, converted. Integers above 2^24 are rounded.
  void read(int64_t begin, std::span<float> values) const;
  // The same; Error where the type is no integer.
  void read(int64_t begin, std::span<int64_t> values) const;

  // Whether shapes are equal, and the bits of all values as floats.
  bool equals(const TorchTensor& other) const;

 private:
  template <class Stored, class Value, class Convert>
  void copy(int64_t begin, std::span<Value> values, Convert convert) const;
  // False where the type is no integer.
  template <class Value>
  bool copy_integers(int64_t begin, std::span<Value> values) const;

  const TorchStorage* storage_;
  int64_t offset_;
  std::vector<int64_t> shape_, strides_;
  int64_t elements_ = 1;
};

}  // namespace mega
