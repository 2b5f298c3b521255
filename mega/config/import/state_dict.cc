#include "mega/config/import/state_dict.h"

#include <algorithm>
#include <set>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega {
namespace {

constexpr std::string_view kWrapper = "module.";

// Versions of modules; one float of memory that was never written; how many batches a norm has seen, where
// we do not count them.
bool is_empty_buffer(std::string_view name) {
  return name.ends_with(".version") || name.ends_with("._float_tensor") ||
         name.ends_with(".num_batches_tracked");
}

bool is_real(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F64;
}

// What is wrong with tensors, all of it: with one error at a time, nobody sees that it is another model.
class Complaints {
 public:
  template <class... Parts>
  void add(const Parts&... parts) {
    if (++count_ > kShown) return;
    std::ostringstream text;
    (text << ... << parts);
    shown_.push_back(text.str());
  }

  void raise(const std::string& where, const ModelOptions& options) const {
    require(count_ == 0, where, ": does not fit the options of its model (kind ", options.kind_name(),
            "): ", join(shown_, "; "),
            count_ > kShown ? "; and " + std::to_string(count_ - kShown) + " more" : "");
  }

 private:
  static constexpr size_t kShown = 4;
  std::vector<std::string> shown_;
  size_t count_ = 0;
};

// Views can overlap: a small file must not become a huge model.
void check_size(const StateDict& state, const std::vector<TensorInfo>& infos) {
  constexpr int64_t kAlways = 64 << 20, kFactor = 8;
  std::set<const TorchStorage*> storages;
  for (const auto& [name, tensor] : state.tensors()) storages.insert(&tensor->storage());
  int64_t there = 0, wanted = 0;
  for (const TorchStorage* storage : storages) there += static_cast<int64_t>(storage->data.size());
  for (const TensorInfo& info : infos)
    if (info.tied_to.empty()) wanted += info.elements() * element_size(info.dtype);
  require(wanted <= kAlways + kFactor * there, state.where(), ": ", human_bytes(static_cast<uint64_t>(there)),
          " of numbers repeat themselves to be a model of ", human_bytes(static_cast<uint64_t>(wanted)));
}

class Converter {
 public:
  Converter(const StateDict& state, const ModelOptions& options)
      : state_(state), options_(options), infos_(options.kind().tensors()) {}

  ConvertedTensors run() {
    std::set<std::string_view> known;
    for (const TensorInfo& info : infos_) {
      known.insert(info.name);
      if (info.tied_to.empty())
        check(info);
      else
        check_tied(info);
    }
    for (const auto& [name, tensor] : state_.tensors()) {
      if (known.contains(name)) continue;
      if (is_empty_buffer(name))
        result_.ignored.push_back(name);
      else
        complaints_.add(in_quotes(name), " of shape ", shape_text(tensor->shape()),
                        " is not a part of such a model");
    }
    complaints_.raise(state_.where(), options_);
    check_size(state_, infos_);
    for (const TensorInfo& info : infos_)
      if (info.tied_to.empty()) result_.tensors.push_back(convert(info));
    return std::move(result_);
  }

 private:
  void check(const TensorInfo& info) {
    const TorchTensor* tensor = state_.find(info.name);
    if (tensor == nullptr)
      complaints_.add(in_quotes(info.name), " of shape ", shape_text(info.shape), " is missing");
    else if (tensor->shape() != info.shape)
      complaints_.add(in_quotes(info.name), " has the shape ", shape_text(tensor->shape()), ", expected ",
                      shape_text(info.shape));
    else if (info.dtype == DType::F32 ? !is_real(tensor->dtype()) : tensor->dtype() != info.dtype)
      complaints_.add(in_quotes(info.name), " is of type ", to_string(tensor->dtype()), ", expected ",
                      to_string(info.dtype));
  }

  // Saving from a GPU writes a tensor under each of its names. Matrices that are used transposed have one
  // shape under all of them.
  void check_tied(const TensorInfo& info) {
    const TorchTensor *tensor = state_.find(info.name), *first = state_.find(info.tied_to);
    if (tensor != nullptr && first != nullptr && !tensor->equals(*first))
      complaints_.add(in_quotes(info.name), " and ", in_quotes(info.tied_to),
                      " differ, but are one tensor in such a model");
  }

  TensorView convert(const TensorInfo& info) {
    const TorchTensor& tensor = *state_.find(info.name);
    if (const auto bytes = tensor.contiguous(); bytes && tensor.dtype() == info.dtype)
      return {info.name, info.dtype, info.shape, *bytes};
    const auto size = static_cast<size_t>(tensor.elements());
    if (info.dtype == DType::I64) {
      std::vector<int64_t>& values = result_.integers.emplace_back(size);
      tensor.read(0, values);
      return {info.name, info.dtype, info.shape, std::as_bytes(std::span(values))};
    }
    std::vector<float>& values = result_.floats.emplace_back(size);
    tensor.read(0, values);
    return {info.name, info.dtype, info.shape, std::as_bytes(std::span(values))};
  }

  const StateDict& state_;
  const ModelOptions& options_;
  const std::vector<TensorInfo> infos_;
  ConvertedTensors result_;
  Complaints complaints_;
};

}  // namespace

StateDict::StateDict(const PickleValue& model, std::string where) : where_(std::move(where)) {
  const auto entries = model.entries(where_ + ": model");
  const auto name_of = [&](const PickleEntry& entry) {
    return entry.key.text(where_ + ": name of a tensor");
  };
  was_wrapped_ = !entries.empty() &&
                 std::all_of(entries.begin(), entries.end(),
                             [&](const PickleEntry& entry) { return name_of(entry).starts_with(kWrapper); });
  for (const PickleEntry& entry : entries) {
    std::string_view name = name_of(entry);
    if (was_wrapped_) name.remove_prefix(kWrapper.size());
    tensors_.emplace(name, &entry.value.tensor(where_ + ": model: " + in_quotes(name)));
  }
}

StateDict::StateDict(const Safetensors& file, std::string where) : where_(std::move(where)) {
  for (const TensorView& tensor : file.tensors()) {
    std::vector<int64_t> strides(tensor.shape.size(), 1);
    for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * tensor.shape[i];
    storages_.push_back({tensor.name, tensor.dtype, tensor.elements(), tensor.data});
    tensors_.emplace(tensor.name, &own_.emplace_back(storages_.back(), 0, tensor.shape, std::move(strides)));
  }
}

void StateDict::rename(const std::function<std::string(const std::string&)>& new_name) {
  std::map<std::string, const TorchTensor*, std::less<>> renamed;
  for (const auto& [name, tensor] : tensors_) {
    const std::string chosen = new_name(name);
    require(renamed.emplace(chosen, tensor).second, where_, ": two tensors stand for ", in_quotes(chosen),
            ", one of them is ", in_quotes(name));
  }
  tensors_ = std::move(renamed);
}

void StateDict::keep_first(const std::string& name, int64_t count) {
  const auto found = tensors_.find(name);
  require(found != tensors_.end(), where_, ": model: has no tensor ", in_quotes(name));
  found->second = &own_.emplace_back(found->second->first(count));
}

const TorchTensor* StateDict::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

int64_t StateDict::size(const std::string& name, size_t dimension) const {
  const TorchTensor* tensor = find(name);
  require(tensor != nullptr, where_, ": model: has no tensor ", in_quotes(name));
  require(dimension < tensor->shape().size(), where_, ": model: ", in_quotes(name), " has the shape ",
          shape_text(tensor->shape()), ", expected ", dimension + 1, " dimensions or more");
  constexpr int64_t kLargest = int64_t{1} << 40;  // an empty tensor may claim any size
  require(tensor->shape()[dimension] <= kLargest, where_, ": model: ", in_quotes(name), " has the shape ",
          shape_text(tensor->shape()));
  return tensor->shape()[dimension];
}

int64_t StateDict::count(const std::string& prefix, const std::string& suffix) const {
  int64_t count = 0;
  while (has(prefix + std::to_string(count) + suffix)) ++count;
  return count;
}

bool StateDict::has_prefix(std::string_view prefix) const {
  const auto first = tensors_.lower_bound(prefix);
  return first != tensors_.end() && first->first.starts_with(prefix);
}

ConvertedTensors convert_tensors(const StateDict& state, const ModelOptions& options) {
  return Converter(state, options).run();
}

}  // namespace mega
