// Files: read whole, memory-mapped, and written atomically, so that a partial file never has its final name.
// Errors contain the path and the system's message.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace mega {

std::string read_file(const std::filesystem::path& path);

// fsync of a folder: makes renamed and new files in it survive a power failure.
void sync_folder(const std::filesystem::path& folder);

// An atomic write: the file is written under a temporary name in the same folder, synced, and renamed by
// commit(). Without commit(), the destructor removes it and the old file stays.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path aside_;
  int descriptor_ = -1;
};

// Writes one text as an AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view text);

// A file mapped read-only. Pages are read on access; the file must not be truncated while it is mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace mega
