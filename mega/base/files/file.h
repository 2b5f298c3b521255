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

// Error where the path is a pipe, a socket or a device: one that nobody named but that stands where a file is
// expected must not be waited for. Nothing at all is left to whoever opens it.
void require_regular(const std::filesystem::path& path);

// fsync of a folder: makes renamed and new files in it survive a power failure.
void sync_folder(const std::filesystem::path& folder);

// The name of a temporary file of this process.
std::string temporary_name(const std::string& name, int number);

// Removes the files of temporary_name(name, ...), of any name where it is empty, that processes left in the
// folder when they were killed. Those of processes that are still there stay.
void remove_leftovers(const std::filesystem::path& folder, const std::string& name = "");

// An atomic write: the file is written under a temporary name in the same folder, synced, and renamed by
// commit(). Without commit(), the destructor removes it and the old file stays.
//
// A file that is replaced hands its permissions on. Through a symbolic link, its target is replaced and the
// link stays. Character devices (/dev/null) and descriptors of this process (/dev/stdout, /dev/fd/N) are
// written to as they are, at once; anything else that is not a regular file is refused and left alone.
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
  void open_aside();

  std::filesystem::path path_;    // as given, for messages
  std::filesystem::path target_;  // what a symbolic link leads to
  std::filesystem::path aside_;   // empty: written to as it is
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
