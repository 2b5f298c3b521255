// Zip archives of unknown origin: entries stored or deflated, with the 64-bit records of large files.
//
// What an archive says of itself is checked when it is opened: entries lie inside the file, one after the
// other without overlaps, each has the name that its local header says, and no name is there twice. Contents
// are checked against their size and CRC when they are read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mega {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  bool is_link = false;  // a symbolic link, whose contents are a path
  uint32_t crc = 0;
  std::span<const std::byte> stored;  // as in the file
  uint64_t size = 0;                  // of the contents

  bool is_folder() const { return name.ends_with('/'); }
};

// Bytes that lie where they were found, or were unpacked and are owned.
struct ZipContents {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // null: they belong to the archive
};

class ZipArchive {
 public:
  // The bytes must outlive the archive; `where` begins error messages.
  ZipArchive(std::span<const std::byte> bytes, std::string where)
      : ZipArchive(bytes, std::move(where), most_unpacked(bytes.size())) {}
  // An archive inside another may unpack what the other has left.
  ZipArchive(std::span<const std::byte> bytes, std::string where, uint64_t may_unpack);

  // Whether the bytes begin as an archive does.
  static bool recognizes(std::span<const std::byte> bytes);

  const std::vector<ZipEntry>& entries() const { return entries_; }  // in the order of its directory
  const ZipEntry* find(std::string_view name) const;                 // nullptr if there is none

  // Error if the contents have more than `most` bytes. All that is unpacked from one archive together is
  // bounded too: a few bytes can unpack to any number of them.
  ZipContents read(const ZipEntry& entry, uint64_t most = UINT64_MAX);
  uint64_t may_unpack() const { return may_unpack_; }

 private:
  // Weights hardly compress at all; what unpacks to more than this was made to.
  static uint64_t most_unpacked(uint64_t file_bytes) { return (64 << 20) + 8 * file_bytes; }

  void read_directory();
  void read_entry(class ByteCursor& directory);
  void check_overlaps() const;

  std::span<const std::byte> bytes_;
  std::string where_;
  std::vector<ZipEntry> entries_;
  std::map<std::string, size_t, std::less<>> index_;
  uint64_t may_unpack_;  // bytes
};

}  // namespace mega
