// A folder for temporary files.
#pragma once

#include <filesystem>

namespace mega {

// A new, empty folder under TMPDIR or /tmp that only this user can read; the destructor removes it with its
// contents. What killed processes left of theirs is removed by the next constructor.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace mega
