#include "mega/config/signature.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/json.h"
#include "mega/base/options_io.h"

namespace mega {
namespace {

constexpr const char* kInput = "input";
constexpr const char* kData = "data";
constexpr const char* kClasses = "classes";

// The tensors by name; S is Signature or const Signature.
template <class S>
auto statistics(S& signature) {
  return std::array{std::pair{"signature.mean", &signature.mean},
                    std::pair{"signature.deviation", &signature.deviation},
                    std::pair{"signature.target_mean", &signature.target_mean},
                    std::pair{"signature.target_deviation", &signature.target_deviation}};
}

}  // namespace

Metadata signature_metadata(const Signature& signature) {
  return {{kInput, options_to_json(signature.input).dump()},
          {kData, options_to_json(signature.data).dump()},
          {kClasses,
           nlohmann::json(signature.classes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)}};
}

std::vector<TensorView> signature_tensors(const Signature& signature) {
  std::vector<TensorView> tensors;
  for (const auto& [name, values] : statistics(signature))
    if (!values->empty())
      tensors.push_back(
          {name, DType::F32, {static_cast<int64_t>(values->size())}, std::as_bytes(std::span(*values))});
  return tensors;
}

bool has_signature(const Safetensors& file) { return file.metadata().contains(kInput); }

Signature read_signature(const Safetensors& file, const std::string& where) {
  Signature signature;
  const auto json_at = [&](const char* key) {
    const auto found = file.metadata().find(key);
    require(found != file.metadata().end(), where, ": its metadata has no ", in_quotes(key),
            ": the model was not trained by `mega train`");
    return parse_json(found->second, where + ": " + key, {.depth = 8, .values = 1 << 20});
  };
  options_from_json(signature.input, json_at(kInput), {where + ": " + kInput, {}, ""});
  options_from_json(signature.data, json_at(kData), {where + ": " + kData, {}, ""});
  for (const nlohmann::json& name : json_at(kClasses)) {
    require(name.is_string(), where, ": classes: expected names, got ", name.dump());
    signature.classes.push_back(name);
  }
  for (const auto& [name, values] : statistics(signature)) {
    const TensorView* tensor = file.find(name);
    if (tensor == nullptr) continue;
    require(tensor->dtype == DType::F32, where, ": ", name, ": expected F32, got ", to_string(tensor->dtype));
    values->resize(static_cast<size_t>(tensor->elements()));
    std::memcpy(values->data(), tensor->data.data(), tensor->data.size());
  }
  require(signature.mean.size() == signature.deviation.size() &&
              signature.target_mean.size() == signature.target_deviation.size(),
          where, ": mean and deviation differ in size");
  return signature;
}

}  // namespace mega
