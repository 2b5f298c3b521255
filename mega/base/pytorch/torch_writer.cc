#include "mega/base/pytorch/torch_writer.h"

#include "mega/base/pytorch/zip_writer.h"

namespace mega {

void TorchWriter::tensor(const TensorView& tensor) {
  const auto [found, is_new] =
      numbers_.try_emplace({tensor.data.data(), tensor.data.size()}, storages_.size());
  if (is_new) storages_.push_back(tensor.data);
  pickle_.tensor(std::to_string(found->second), tensor.dtype, tensor.elements(), tensor.shape);
}

void TorchWriter::write(const std::filesystem::path& path) const {
  const std::string root = "archive/";
  ZipWriter zip(path);
  zip.add(root + "data.pkl", pickle_.finish());
  for (size_t i = 0; i < storages_.size(); ++i) zip.add(root + "data/" + std::to_string(i), storages_[i]);
  zip.add(root + "version", "3\n");
  zip.finish();
}

}  // namespace mega
