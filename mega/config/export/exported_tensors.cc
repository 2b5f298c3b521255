#include "mega/config/export/exported_tensors.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/options/options_io.h"
#include "mega/base/strings.h"

namespace mega {
namespace {

bool is_of_training(const std::string& name) {
  return name.ends_with("dropout") || name == "drop_path" || name == "released_loss";
}

void compare(const nlohmann::json& before, const nlohmann::json& after, const std::string& path,
             const std::string& where, const std::vector<std::string>& changed) {
  for (const auto& [key, value] : before.items()) {
    const std::string name = path + "." + key;
    if (is_of_training(key) || std::find(changed.begin(), changed.end(), name) != changed.end()) continue;
    if (value.is_object())
      compare(value, after.at(key), name, where, changed);
    else
      require(after.at(key) == value, where, ": the other program cannot say ", name, " = ", value.dump(),
              " (it would read ", after.at(key).dump(), "): such a model cannot be exported to it");
  }
}

}  // namespace

void ExportedTensors::add(std::string name, std::vector<int64_t> shape, std::vector<float> values) {
  const std::vector<float>& kept = floats.emplace_back(std::move(values));
  tensors.push_back({std::move(name), DType::F32, std::move(shape), std::as_bytes(std::span(kept))});
}

void ExportedTensors::add(std::string name, std::vector<int64_t> shape, std::vector<int64_t> values) {
  const std::vector<int64_t>& kept = integers.emplace_back(std::move(values));
  tensors.push_back({std::move(name), DType::I64, std::move(shape), std::as_bytes(std::span(kept))});
}

ExportedTensors exported_tensors(const ModelFile& file, bool tied) {
  check_tensors(file.options, file.tensors);
  ExportedTensors exported;
  for (const TensorInfo& info : file.options.kind().tensors()) {
    if (!info.tied_to.empty() && !tied) continue;
    TensorView tensor = file.tensors.at(info.tied_to.empty() ? info.name : info.tied_to);
    require(tensor.dtype == info.dtype, file.where, ": ", in_quotes(tensor.name), " is of type ",
            to_string(tensor.dtype), ": export the model that was quantised, not the result");
    tensor.name = info.name;
    exported.tensors.push_back(std::move(tensor));
  }
  return exported;
}

void check_same_options(const ModelOptions& before, const ModelOptions& after, const std::string& where,
                        const std::vector<std::string>& changed) {
  require(before.kind_name() == after.kind_name(), where, ": would be read as a model of kind ",
          after.kind_name(), ", not ", before.kind_name());
  compare(options_to_json(before), options_to_json(after), "model", where, changed);
}

}  // namespace mega
