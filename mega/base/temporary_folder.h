// A folder for files that nobody needs afterwards.
#pragma once

#include <filesystem>

namespace mega {

// A new, empty folder that only this user can read, below TMPDIR or /tmp; removed with all it holds.
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
