// The tensors of a checkpoint by name, and how they become those of one of our models.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/pytorch/pickle_value.h"
#include "mega/base/pytorch/torch_tensor.h"
#include "mega/config/model_options.h"

namespace mega {

class StateDict {
 public:
  // Error where it is no dict of tensors; `where` begins error messages. The file outlives the object. Names
  // of a module that was saved with its wrapper for parallel training lose its prefix, "module.".
  StateDict(const PickleValue& model, std::string where);
  // The tensors of a safetensors file, whose data outlives the object.
  StateDict(const Safetensors& file, std::string where);

  const TorchTensor* find(std::string_view name) const;  // null if there is none
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // The size of a tensor in one dimension; Error where it does not have it.
  int64_t size(const std::string& name, size_t dimension) const;
  // How many of PREFIX0SUFFIX, PREFIX1SUFFIX, ... there are.
  int64_t count(const std::string& prefix, const std::string& suffix) const;
  bool has_prefix(std::string_view prefix) const;  // of any name

  const std::map<std::string, const TorchTensor*, std::less<>>& tensors() const { return tensors_; }
  // Gives every tensor the name that `new_name` makes of its own; Error where two get the same.
  void rename(const std::function<std::string(const std::string&)>& new_name);
  void erase(const std::string& name) { tensors_.erase(name); }
  // Of a tensor, its first `count` rows alone.
  void keep_first(const std::string& name, int64_t count);

  const std::string& where() const { return where_; }
  bool was_wrapped() const { return was_wrapped_; }

 private:
  std::map<std::string, const TorchTensor*, std::less<>> tensors_;
  std::string where_;
  bool was_wrapped_ = false;
  std::deque<TorchStorage> storages_;  // that are not those of a pickle
  std::deque<TorchTensor> own_;
};

// Tensors as a model file has them: where they lie in the checkpoint if they are F32 in order there, else
// converted.
struct ConvertedTensors {
  std::vector<TensorView> tensors;
  std::vector<std::string> ignored;  // buffers that carry nothing
  std::deque<std::vector<float>> floats;
  std::deque<std::vector<int64_t>> integers;
};

// Compares every tensor with the table of a model of these options, by name, shape and type. Tensors that are
// one and the same in the model must be equal where the file has them several times. An Error lists what is
// missing, differs or is too much.
ConvertedTensors convert_tensors(const StateDict& state, const ModelOptions& options);

}  // namespace mega
