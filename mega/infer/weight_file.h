// The tensors of a model file as the kernels read them: checked for type and shape, and left where they are
// mapped.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "mega/base/aligned.h"
#include "mega/base/safetensors.h"
#include "mega/config/model_file.h"
#include "mega/kernels/dot.h"

namespace mega::infer {

// What it gives is valid as long as it and the file live.
class WeightFile {
 public:
  WeightFile(Safetensors tensors, std::string where)
      : tensors_(std::move(tensors)), where_(std::move(where)) {}

  bool has(const std::string& name) const { return tensors_.find(name) != nullptr; }

  // A matrix (rows, depth) of F32, BF16, or I8 with one scale per row, as `mega quantize` writes it.
  kernels::Weights matrix(const std::string& name, int64_t rows, int64_t depth);
  // The same, transposed: (depth, rows) in the file. For small ones, as it is copied.
  kernels::Weights transposed(const std::string& name, int64_t rows, int64_t depth);

  // `count` numbers of F32, whatever their shape.
  std::span<const float> numbers(const std::string& name, int64_t count);

 private:
  const TensorView& find(const std::string& name, int64_t elements) const;
  std::span<const float> floats(const TensorView& tensor);

  Safetensors tensors_;
  std::string where_;
  // What cannot be used where it lies. Deques, because their elements stay where they are.
  std::deque<AlignedVector<float>> copies_;
  std::deque<std::vector<int32_t>> sums_;
};

}  // namespace mega::infer
