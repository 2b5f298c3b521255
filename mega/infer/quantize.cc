#include "mega/infer/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "mega/base/error.h"
#include "mega/config/files/model_file.h"
#include "mega/infer/weight_file.h"

namespace mega::infer {
namespace {

using kernels::WeightType;

// Names of the matrices that may be quantised.
std::set<std::string> quantizable(const ModelOptions& options) {
  std::set<std::string> names;
  for (TensorInfo& tensor : options.kind().tensors())
    if (tensor.quantizable) names.insert(std::move(tensor.name));
  return names;
}

std::vector<float> floats_of(const TensorView& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

// row = scale * numbers, up to rounding. A row of zeros has scale 0.
float quantize_row(std::span<const float> row, int8_t* numbers) {
  constexpr double kMost = 127.0;
  float largest = 0.0f;
  for (const float w : row) largest = std::max(largest, std::abs(w));
  const float scale = largest / static_cast<float>(kMost);
  for (size_t i = 0; i < row.size(); ++i) {
    // Divide instead of multiplying by the inverse of the scale, which may be infinite.
    const double q =
        scale == 0.0f ? 0.0 : std::nearbyint(static_cast<double>(row[i]) / static_cast<double>(scale));
    numbers[i] = static_cast<int8_t>(std::clamp(q, -kMost, kMost));
  }
  return scale;
}

// The tensors of the new file; owns those that were converted.
class Quantizer {
 public:
  explicit Quantizer(WeightType type) : type_(type) {}

  void keep(const TensorView& tensor) { tensors_.push_back(tensor); }

  void add(const TensorView& matrix) {
    const std::vector<float> values = floats_of(matrix);
    for (const float w : values)
      require(std::isfinite(w), matrix.name, " has a weight that is not finite: the model is damaged");
    if (type_ == WeightType::bf16) {
      auto& rounded = halves_.emplace_back(values.size());
      kernels::to_bf16(values.data(), rounded.data(), std::ssize(values));
      tensors_.push_back({matrix.name, DType::BF16, matrix.shape, std::as_bytes(std::span(rounded))});
      return;
    }
    const auto rows = static_cast<size_t>(matrix.shape[0]), depth = static_cast<size_t>(matrix.shape[1]);
    auto& numbers = numbers_.emplace_back(values.size());
    auto& scales = scales_.emplace_back(rows);
    for (size_t r = 0; r < rows; ++r)
      scales[r] = quantize_row({values.data() + r * depth, depth}, numbers.data() + r * depth);
    tensors_.push_back({matrix.name, DType::I8, matrix.shape, std::as_bytes(std::span(numbers))});
    tensors_.push_back(
        {scale_name(matrix.name), DType::F32, {matrix.shape[0]}, std::as_bytes(std::span(scales))});
  }

  const std::vector<TensorView>& tensors() const { return tensors_; }

 private:
  WeightType type_;
  std::vector<TensorView> tensors_;
  // Deques, because their elements do not move.
  std::deque<std::vector<int8_t>> numbers_;
  std::deque<std::vector<float>> scales_;
  std::deque<std::vector<uint16_t>> halves_;
};

}  // namespace

const char* quantized_name(WeightType type) {
  require(type != WeightType::f32,
          "cannot quantise to f32, the type that `mega train` writes: choose int8 or bf16");
  return type == WeightType::i8 ? "int8" : "bf16";
}

void quantize(const std::filesystem::path& from, const std::filesystem::path& to, WeightType type) {
  const std::string name = quantized_name(type);
  const ModelFile file = ModelFile::open(from);
  file.verify();
  Metadata metadata = file.tensors.metadata();
  const bool first = metadata.emplace(kQuantized, name).second;
  require(first, from.string(), ": is quantised to ", metadata[kQuantized],
          " already: quantise the original model");
  metadata[kArithmetic] = name;
  std::error_code none;
  require(!std::filesystem::equivalent(from, to, none), to.string(),
          ": would overwrite the model, whose precision could not be restored: choose another name");

  const std::set<std::string> matrices = quantizable(file.options);
  Quantizer quantizer(type);
  try {
    for (const TensorView& tensor : file.tensors.tensors()) {
      if (!matrices.contains(tensor.name)) {
        quantizer.keep(tensor);
        continue;
      }
      require(tensor.dtype == DType::F32, tensor.name, " is ", to_string(tensor.dtype), ", expected F32");
      quantizer.add(tensor);
    }
  } catch (const Error& error) {
    fail(from.string(), ": ", error.what());
  }
  write_with_checksum(to, quantizer.tensors(), std::move(metadata));
}

}  // namespace mega::infer
