// The tensors of a model, described once: what a model of given options consists of. Parameter counts,
// quantising, the check of a file before anything is built from it, tests and importers read this table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/base/files/safetensors.h"
#include "mega/base/options/options.h"

namespace mega {

// What a tensor belongs to.
enum class ModelPart {
  embedding,
  norms,
  positions,
  ema,
  attention,
  cross_attention,
  feed_forward,
  convolutions,
  recurrence,
  head
};

template <>
struct EnumNames<ModelPart> {
  static constexpr auto names = enum_table<ModelPart>({{ModelPart::embedding, "embedding"},
                                                       {ModelPart::norms, "norms"},
                                                       {ModelPart::positions, "positions"},
                                                       {ModelPart::ema, "ema"},
                                                       {ModelPart::attention, "attention"},
                                                       {ModelPart::cross_attention, "cross attention"},
                                                       {ModelPart::feed_forward, "feed-forward"},
                                                       {ModelPart::convolutions, "convolutions"},
                                                       {ModelPart::recurrence, "recurrence"},
                                                       {ModelPart::head, "head"}});
};

struct TensorInfo {
  std::string name;  // the released one
  std::vector<int64_t> shape;
  ModelPart part = ModelPart::head;
  DType dtype = DType::F32;  // as trained
  bool is_parameter = true;  // false: a buffer, such as running statistics
  bool quantizable = false;  // a matrix whose rows are read whole: by a product, or as embeddings
  bool decays = true;        // weight decay applies, unless train.groups say otherwise
  double learning_rate = 0;  // its own highest learning rate, on the same conditions; 0: the recipe's
  std::string tied_to;       // the tensor that it is another name of; not in the file, not counted

  int64_t elements() const;
};

// Collects the tensors of modules under their released names.
class TensorList {
 public:
  void add(std::string name, std::vector<int64_t> shape, ModelPart part);
  void add_buffer(std::string name, std::vector<int64_t> shape, ModelPart part, DType dtype = DType::F32);
  void add_matrix(std::string name, int64_t rows, int64_t columns, ModelPart part);
  void add_tied(std::string name, int64_t rows, int64_t columns, ModelPart part, std::string tied_to);
  // NAME.weight (outputs, inputs) and NAME.bias (outputs).
  void add_linear(const std::string& name, int64_t outputs, int64_t inputs, ModelPart part);
  // NAME.weight and NAME.bias of a plain layer norm.
  void add_layer_norm(const std::string& name, int64_t width);

  // The tensor added last learns with a rate of its own (0: the recipe's) and has no weight decay.
  void learn_apart(double learning_rate);

  std::vector<TensorInfo> take() { return std::move(tensors_); }

 private:
  std::vector<TensorInfo> tensors_;
};

}  // namespace mega
