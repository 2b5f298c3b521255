// A lock that lets one process at a time use a folder.
#pragma once

#include <filesystem>

namespace mega {

// Locks the folder for its lifetime; Error if another process holds the lock. The system releases the lock of
// a killed process.
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
