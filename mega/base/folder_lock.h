// A folder that one process uses at a time.
#pragma once

#include <filesystem>

namespace mega {

// Holds the folder as long as it lives; an Error if another process does. A killed process holds nothing.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace mega
