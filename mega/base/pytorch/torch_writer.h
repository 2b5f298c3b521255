// Writes files as torch.save does (the zip container): an object of plain values and tensors.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mega/base/files/safetensors.h"
#include "mega/base/pytorch/pickle_writer.h"

namespace mega {

class TorchWriter {
 public:
  // The object, value by value.
  PickleWriter& values() { return pickle_; }
  // A tensor as the next value. Its data must stay until the file is written; tensors with the same data
  // share one storage, as those of a model do that are tied.
  void tensor(const TensorView& tensor);

  void write(const std::filesystem::path& path) const;

 private:
  PickleWriter pickle_;
  std::vector<std::span<const std::byte>> storages_;
  std::map<std::pair<const std::byte*, size_t>, size_t> numbers_;  // of storages, by their data
};

}  // namespace mega
