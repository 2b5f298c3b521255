// Files inside tar archives, found once and read where they lie: ustar, with the long names of POSIX (pax)
// and GNU. Archives are a stranger's: what is damaged is an Error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mega::data {

// A regular file of an archive.
struct TarMember {
  std::string name;
  int64_t offset = 0, size = 0;  // of its content, from the beginning of the outermost archive
};

class TarFile {
 public:
  // An archive that is compressed cannot be read member by member and is an Error.
  explicit TarFile(const std::filesystem::path& path);
  ~TarFile();
  TarFile(const TarFile&) = delete;
  TarFile& operator=(const TarFile&) = delete;

  const std::string& name() const { return name_; }

  // The regular files, in their order; folders, links and devices are passed over.
  std::vector<TarMember> members() const;
  // Those of a member that is an archive itself.
  std::vector<TarMember> members(const TarMember& archive) const;

  // The content; by any number of threads. More than `most` bytes are an Error.
  std::string read(const TarMember& member, size_t most) const;

 private:
  std::vector<TarMember> members(int64_t begin, int64_t end, const std::string& where) const;
  void read(int64_t offset, std::span<char> into, const std::string& where) const;

  std::string name_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace mega::data
