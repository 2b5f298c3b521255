// A folder for temporary files.
#pragma once

#include <filesystem>

namespace mega {

// A new, empty folder under TMPDIR or /tmp that only this user can read; the destructor removes it with its
// contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace mega
