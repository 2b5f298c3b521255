// The tensors of a model file in the form that the kernels read: checked for type and shape, and used in
// place from the memory map.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mega/base/aligned.h"
#include "mega/base/files/safetensors.h"
#include "mega/config/files/model_file.h"
#include "mega/kernels/dot.h"

namespace mega::infer {

// Metadata key of files whose computations may round what they multiply. "bf16": products with weights, and
// attention. "int8": attention alone, and to bf16 where the CPU does that faster. Files without it are
// computed in f32, but for products with weights of I8.
inline constexpr const char* kArithmetic = "arithmetic";
enum class Arithmetic { f32, bf16, int8 };

// Results are valid for the lifetime of this object and the file.
class WeightFile {
 public:
  // Error where the file asks for an arithmetic that there is not.
  WeightFile(Safetensors tensors, std::string where);

  // What the file says (kArithmetic), to be followed where the CPU multiplies that natively.
  Arithmetic arithmetic() const { return arithmetic_; }

  bool has(const std::string& name) const { return tensors_.find(name) != nullptr; }

  // A matrix (rows, depth) of F32, BF16, or I8 with one scale per row, as `mega quantize` writes it. Of a
  // tensor with more dimensions, such as the weights of a convolution, all but the first are the depth.
  kernels::Weights matrix(const std::string& name, int64_t rows, int64_t depth);
  // The same, transposed: (depth, rows) in the file. Copied, so for small matrices.
  kernels::Weights transposed(const std::string& name, int64_t rows, int64_t depth);

  // `count` numbers of F32, whatever their shape.
  std::span<const float> numbers(const std::string& name, int64_t count);

  // From now on, numbers() gives these in place of the file's.
  void replace(const std::string& name, std::vector<float> values);

 private:
  const TensorView& find(const std::string& name, int64_t elements) const;
  std::span<const float> floats(const TensorView& tensor);

  Safetensors tensors_;
  std::string where_;
  Arithmetic arithmetic_ = Arithmetic::f32;
  // Tensors that cannot be used in place. Deques, because their elements do not move.
  std::deque<AlignedVector<float>> copies_;
  std::deque<std::vector<int32_t>> sums_;
  std::map<std::string, std::vector<float>> replaced_;
};

}  // namespace mega::infer
