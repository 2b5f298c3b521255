#include "mega/ops/tensor_file.h"

#include <cstring>

#include "mega/base/error.h"

namespace mega::ops {
namespace {

using torch::Tensor;

struct TypePair {
  DType file;
  torch::ScalarType memory;
};
constexpr TypePair kTypes[] = {{DType::F64, torch::kFloat64}, {DType::F32, torch::kFloat32},
                               {DType::F16, torch::kFloat16}, {DType::BF16, torch::kBFloat16},
                               {DType::I64, torch::kInt64},   {DType::I32, torch::kInt32},
                               {DType::I16, torch::kInt16},   {DType::I8, torch::kInt8},
                               {DType::U8, torch::kUInt8},    {DType::BOOL, torch::kBool}};

}  // namespace

Tensor to_tensor(const TensorView& view) {
  for (const TypePair& type : kTypes) {
    if (type.file != view.dtype) continue;
    Tensor tensor = torch::empty(view.shape, type.memory);
    if (!view.data.empty()) std::memcpy(tensor.data_ptr(), view.data.data(), view.data.size());
    return tensor;
  }
  fail(view.name, ": no tensor type for ", to_string(view.dtype));
}

TensorViews::TensorViews(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    keep_.push_back(tensor.detach().cpu().contiguous());
    const Tensor& dense = keep_.back();
    bool known = false;
    for (const TypePair& type : kTypes) {
      if (type.memory != dense.scalar_type()) continue;
      known = true;
      views_.push_back({name,
                        type.file,
                        dense.sizes().vec(),
                        {static_cast<const std::byte*>(dense.data_ptr()), dense.nbytes()}});
    }
    require(known, name, ": a tensor of ", dense.scalar_type(), " has no place in a safetensors file");
  }
}

}  // namespace mega::ops
