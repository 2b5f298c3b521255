// Files: read whole, read by memory mapping, and written so that nothing half-written ever stands under
// its final name. Errors name the path and what the system said.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace mega {

std::string read_file(const std::filesystem::path& path);

// Makes a rename or a new name inside the folder survive a power cut.
void sync_folder(const std::filesystem::path& folder);

// A file that appears whole or not at all: written under a temporary name in the same folder, synced, and
// renamed by commit(). Without a commit the destructor removes it and the old file stays.
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

// A file's bytes, mapped read-only. Pages are read when touched; the file must not be truncated meanwhile.
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
