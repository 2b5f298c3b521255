#include "mega/infer/weight_file.h"

#include <cmath>
#include <cstring>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega::infer {

using kernels::Weights;
using kernels::WeightType;

WeightFile::WeightFile(Safetensors tensors, std::string where)
    : tensors_(std::move(tensors)), where_(std::move(where)) {
  const auto arithmetic = tensors_.metadata().find(kArithmetic);
  if (arithmetic == tensors_.metadata().end()) return;
  const std::string& name = arithmetic->second;
  require(name == "bf16" || name == "int8", where_, ": ", kArithmetic, " is ", in_quotes(name),
          ", expected \"bf16\", \"int8\" or none: the file is of a newer version, or damaged");
  arithmetic_ = name == "bf16" ? Arithmetic::bf16 : Arithmetic::int8;
}

const TensorView& WeightFile::find(const std::string& name, int64_t elements) const {
  const TensorView& tensor = tensors_.at(name);
  require(tensor.elements() == elements, where_, ": ", name, " has ", tensor.elements(),
          " numbers, the model's options require ", elements);
  return tensor;
}

// Files of other writers may be unaligned.
std::span<const float> WeightFile::floats(const TensorView& tensor) {
  require(tensor.dtype == DType::F32, where_, ": ", tensor.name, ": expected F32, got ",
          to_string(tensor.dtype));
  const auto count = static_cast<size_t>(tensor.elements());
  if (tensor.is_aligned()) return {reinterpret_cast<const float*>(tensor.data.data()), count};
  AlignedVector<float>& copy = copies_.emplace_back(count);
  std::memcpy(copy.data(), tensor.data.data(), tensor.data.size());
  return copy;
}

Weights WeightFile::matrix(const std::string& name, int64_t rows, int64_t depth) {
  const TensorView& tensor = find(name, rows * depth);
  require(tensor.shape.size() > 1 && tensor.shape[0] == rows, where_, ": ", name, " should be ", rows, " x ",
          depth);
  Weights weights{WeightType::f32, tensor.data.data(), rows, depth, nullptr, nullptr};
  if (tensor.dtype == DType::BF16 && tensor.is_aligned()) {
    weights.type = WeightType::bf16;
    weights.rounds = arithmetic_ == Arithmetic::bf16;
  } else if (tensor.dtype == DType::I8) {
    weights.type = WeightType::i8;
    weights.scales = numbers(scale_name(name), rows).data();
    std::vector<int32_t>& sums = sums_.emplace_back(static_cast<size_t>(rows));
    kernels::row_sums(static_cast<const int8_t*>(weights.data), depth, sums.data(), 0, rows);
    weights.sums = sums.data();
  } else {
    weights.data = floats(tensor).data();
  }
  return weights;
}

Weights WeightFile::transposed(const std::string& name, int64_t rows, int64_t depth) {
  const Weights original = matrix(name, depth, rows);
  AlignedVector<float>& copy = copies_.emplace_back(static_cast<size_t>(rows * depth));
  std::vector<float> row(static_cast<size_t>(rows));
  for (int64_t d = 0; d < depth; ++d) {
    kernels::weight_row(original, d, row.data());
    for (int64_t r = 0; r < rows; ++r) copy[static_cast<size_t>(r * depth + d)] = row[static_cast<size_t>(r)];
  }
  return {WeightType::f32, copy.data(), rows, depth, nullptr, nullptr};
}

std::span<const float> WeightFile::numbers(const std::string& name, int64_t count) {
  const auto replaced = replaced_.find(name);
  if (replaced == replaced_.end()) return floats(find(name, count));
  require(std::ssize(replaced->second) == count, where_, ": ", name, " was replaced by ",
          replaced->second.size(), " numbers, the model's options require ", count);
  return replaced->second;
}

void WeightFile::replace(const std::string& name, std::vector<float> values) {
  replaced_[name] = std::move(values);
}

}  // namespace mega::infer
