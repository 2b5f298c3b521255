// Files that torch.save wrote: an object of plain values and tensors, in the zip container (PyTorch since
// 1.6) or the legacy one. Nothing in a file is executed (mega/base/pytorch/pickle.h), and all of it is
// checked when it is opened.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "mega/base/pytorch/pickle_value.h"
#include "mega/base/pytorch/torch_tensor.h"

namespace mega {

class TorchFile {
 public:
  // The file, mapped: tensors are views into it, except where it is compressed. In an archive of several
  // files, `member` is the name of one, or a part of the name that no other has; empty where there is only
  // one. An Error lists those that there are.
  static TorchFile open(const std::filesystem::path& path, const std::string& member = "");
  // The same from memory that outlives the result; `where` begins error messages.
  static TorchFile parse(std::span<const std::byte> bytes, const std::string& where,
                         const std::string& member = "");

  // Names of the files inside an archive that may be models (*.pt, *.pth, *.bin); empty where the file is
  // one itself.
  static std::vector<std::string> members(const std::filesystem::path& path);

  // Values live as long as a copy of this object.
  const PickleValue& root() const;
  // The path, and the member where there is one.
  const std::string& where() const;

 private:
  struct Contents;
  std::shared_ptr<const Contents> contents_;
};

}  // namespace mega
