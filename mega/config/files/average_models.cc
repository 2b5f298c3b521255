#include "mega/config/files/average_models.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <string>

#include "mega/base/error.h"
#include "mega/base/options/options_io.h"
#include "mega/base/strings.h"
#include "mega/config/files/model_file.h"
#include "mega/config/files/signature.h"

namespace mega {
namespace {

namespace fs = std::filesystem;

bool same_bytes(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.shape == b.shape && std::ranges::equal(a.data, b.data);
}

// Throws unless both are models of the same kind, size and tokens.
void require_alike(const ModelFile& one, const ModelFile& other) {
  require(options_to_json(one.options) == options_to_json(other.options), other.where,
          ": has other model options than ", one.where);
  require(has_signature(one.tensors) == has_signature(other.tensors), other.where,
          ": only one of the models says what it reads");
  if (has_signature(one.tensors)) {
    const Signature a = read_signature(one.tensors, one.where),
                    b = read_signature(other.tensors, other.where);
    require(options_to_json(a.input) == options_to_json(b.input) && a.classes == b.classes, other.where,
            ": reads other input than ", one.where, ", or has other classes");
  }
  for (const TensorView& tensor : one.tensors.tensors()) {
    const TensorView* same = other.tensors.find(tensor.name);
    require(same != nullptr && same->dtype == tensor.dtype && same->shape == tensor.shape, other.where,
            ": has no ", tensor.name, " like that of ", one.where);
    require(!is_signature_tensor(tensor.name) || same_bytes(tensor, *same), other.where, ": its ",
            tensor.name, " is another one than that of ", one.where,
            ": the models were trained on different data");
  }
  require(one.tensors.tensors().size() == other.tensors.tensors().size(), other.where, ": has tensors that ",
          one.where, " has not");
}

std::vector<float> mean_of(const std::string& name, std::span<const ModelFile> models) {
  std::vector<double> sum;
  std::vector<float> values;
  for (const ModelFile& model : models) {
    const TensorView& tensor = model.tensors.at(name);
    values.resize(static_cast<size_t>(tensor.elements()));
    if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    sum.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) sum[i] += static_cast<double>(values[i]);
  }
  for (size_t i = 0; i < sum.size(); ++i) {
    values[i] = static_cast<float>(sum[i] / static_cast<double>(models.size()));
    require(std::isfinite(values[i]), name, " has a weight that is not finite: a model is damaged");
  }
  return values;
}

}  // namespace

void average_models(std::span<const fs::path> models, const fs::path& out) {
  require(!models.empty(), "there are no models to average");
  std::vector<ModelFile> files;
  for (const fs::path& path : models) {
    files.push_back(ModelFile::open(path));
    files.back().verify();
    require_alike(files.front(), files.back());
  }
  std::deque<std::vector<float>> means;  // which do not move
  std::vector<TensorView> tensors;
  for (TensorView tensor : files.back().tensors.tensors()) {
    const bool weight = !is_signature_tensor(tensor.name);
    require(!weight || tensor.dtype == DType::F32 || tensor.dtype == DType::I64, files.back().where, ": ",
            tensor.name, " is ", to_string(tensor.dtype), ": average the models before they are quantised");
    // Counters, such as the batches that a batch norm has seen, are those of the last.
    if (weight && tensor.dtype == DType::F32)
      tensor.data = std::as_bytes(std::span(means.emplace_back(mean_of(tensor.name, files))));
    tensors.push_back(std::move(tensor));
  }
  write_with_checksum(out, std::move(tensors), files.back().tensors.metadata());
}

std::vector<fs::path> checkpoint_models(const fs::path& run, int64_t count) {
  std::vector<fs::path> models;
  std::error_code none;
  for (fs::directory_iterator entry(run / "checkpoints", none), end; !none && entry != end;
       entry.increment(none)) {
    const std::string name = entry->path().filename().string();
    const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
    std::error_code ignored;
    if (number && fs::exists(entry->path() / "model.safetensors", ignored))
      models.push_back(entry->path() / "model.safetensors");
  }
  require(!models.empty(), run.string(), ": has no checkpoints: expected a run directory of `mega train`");
  require(count <= std::ssize(models), run.string(), ": has ", models.size(), " checkpoints, not ", count,
          ": train.keep says how many are kept");
  std::sort(models.begin(), models.end());
  if (count > 0) models.erase(models.begin(), models.end() - count);
  return models;
}

}  // namespace mega
