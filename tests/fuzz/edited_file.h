// A good safetensors file, changed here and there as the fuzzer says: what random bytes alone would not
// reach.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/files/safetensors.h"

namespace mega::testing {

class EditedFile {
 public:
  explicit EditedFile(const Safetensors& good) : metadata(good.metadata()) {
    for (const TensorView& tensor : good.tensors()) {
      const auto* data = reinterpret_cast<const char*>(tensor.data.data());
      tensors_.push_back({tensor.name, tensor.dtype, tensor.shape, std::string(data, tensor.data.size())});
    }
  }

  Metadata metadata;

  void edit(FuzzedDataProvider& choices) {
    for (int i = 0; i < 8 && choices.remaining_bytes() > 0; ++i) {
      if (choices.ConsumeBool() || tensors_.empty()) {
        edit_metadata(choices);
      } else {
        edit_tensor(choices);
      }
    }
  }

  std::vector<TensorView> tensors() const {
    std::vector<TensorView> views;
    for (const Tensor& tensor : tensors_)
      views.push_back({tensor.name, tensor.dtype, tensor.shape, std::as_bytes(std::span(tensor.data))});
    return views;
  }

  std::string bytes() const {
    nlohmann::json header = {{"__metadata__", metadata}};
    std::string data;
    for (const Tensor& tensor : tensors_) {
      header[tensor.name] = {{"dtype", to_string(tensor.dtype)},
                             {"shape", tensor.shape},
                             {"data_offsets", {data.size(), data.size() + tensor.data.size()}}};
      data += tensor.data;
    }
    const std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::string bytes;
    for (size_t i = 0; i < 8; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 0xFF);
    return bytes + text + data;
  }

 private:
  struct Tensor {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
    std::string data;
  };

  static int64_t number(FuzzedDataProvider& choices) {
    return choices.ConsumeBool() ? choices.ConsumeIntegralInRange<int64_t>(0, 20)
                                 : choices.ConsumeIntegral<int64_t>();
  }

  // A number in its text becomes another, or a stretch of it other bytes.
  void edit_metadata(FuzzedDataProvider& choices) {
    if (metadata.empty()) return;
    auto entry = metadata.begin();
    std::advance(entry, choices.ConsumeIntegralInRange<size_t>(0, metadata.size() - 1));
    std::string& text = entry->second;
    size_t begin = choices.ConsumeIntegralInRange<size_t>(0, text.size());
    if (choices.ConsumeBool()) {
      constexpr std::string_view kDigits = "-.0123456789";
      begin = text.find_first_of(kDigits, begin);
      if (begin == std::string::npos) return;
      const size_t end = std::min(text.size(), text.find_first_not_of(kDigits, begin));
      text.replace(begin, end - begin, std::to_string(number(choices)));
    } else {
      const auto length = choices.ConsumeIntegralInRange<size_t>(0, 12);
      text.replace(begin, length, choices.ConsumeRandomLengthString(12));
    }
  }

  void edit_tensor(FuzzedDataProvider& choices) {
    const auto index = choices.ConsumeIntegralInRange<size_t>(0, tensors_.size() - 1);
    Tensor& tensor = tensors_[index];
    switch (choices.ConsumeIntegralInRange<int>(0, 5)) {
      case 0:
        set_number(tensor, choices);
        break;
      case 1:
        tensor.dtype = static_cast<DType>(choices.ConsumeIntegralInRange<int>(0, 9));
        break;
      case 2:
        if (!tensor.shape.empty())
          tensor.shape[choices.ConsumeIntegralInRange<size_t>(0, tensor.shape.size() - 1)] = number(choices);
        break;
      case 3:
        tensor.data.resize(choices.ConsumeIntegralInRange<size_t>(0, 4096));
        break;
      case 4:
        tensor.name = choices.ConsumeRandomLengthString(24);
        break;
      default:
        tensors_.erase(tensors_.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }

  // One float that arithmetic may not like.
  static void set_number(Tensor& tensor, FuzzedDataProvider& choices) {
    using Limits = std::numeric_limits<float>;
    const float value =
        choices.PickValueInArray({0.0f, -1.0f, 1e30f, -Limits::max(), Limits::infinity(), -Limits::infinity(),
                                  Limits::quiet_NaN(), Limits::denorm_min()});
    if (tensor.data.size() < sizeof value) return;
    const auto at = choices.ConsumeIntegralInRange<size_t>(0, tensor.data.size() / sizeof value - 1);
    std::memcpy(tensor.data.data() + at * sizeof value, &value, sizeof value);
  }

  std::vector<Tensor> tensors_;
};

}  // namespace mega::testing
