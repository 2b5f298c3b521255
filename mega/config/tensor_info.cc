#include "mega/config/tensor_info.h"

#include <functional>
#include <numeric>
#include <utility>

namespace mega {

int64_t TensorInfo::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

void TensorList::add(std::string name, std::vector<int64_t> shape, ModelPart part) {
  TensorInfo& info = tensors_.emplace_back();
  info.name = std::move(name);
  info.shape = std::move(shape);
  info.part = part;
}

void TensorList::add_buffer(std::string name, std::vector<int64_t> shape, ModelPart part, DType dtype) {
  add(std::move(name), std::move(shape), part);
  tensors_.back().dtype = dtype;
  tensors_.back().is_parameter = false;
}

void TensorList::add_matrix(std::string name, int64_t rows, int64_t columns, ModelPart part) {
  add(std::move(name), {rows, columns}, part);
  tensors_.back().quantizable = true;
}

void TensorList::add_tied(std::string name, int64_t rows, int64_t columns, ModelPart part,
                          std::string tied_to) {
  add_matrix(std::move(name), rows, columns, part);
  tensors_.back().tied_to = std::move(tied_to);
}

void TensorList::add_linear(const std::string& name, int64_t outputs, int64_t inputs, ModelPart part) {
  add_matrix(name + ".weight", outputs, inputs, part);
  add(name + ".bias", {outputs}, part);
}

void TensorList::add_layer_norm(const std::string& name, int64_t width) {
  add(name + ".weight", {width}, ModelPart::norms);
  add(name + ".bias", {width}, ModelPart::norms);
}

void TensorList::learn_apart(double learning_rate) {
  tensors_.back().learning_rate = learning_rate;
  tensors_.back().decays = false;
}

}  // namespace mega
