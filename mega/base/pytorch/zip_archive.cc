#include "mega/base/pytorch/zip_archive.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/pytorch/byte_cursor.h"
#include "mega/base/strings.h"

namespace mega {
namespace {

// Signatures and sizes of APPNOTE.TXT, the description of the format.
constexpr std::string_view kLocalHeader = "PK\x03\x04";
constexpr std::string_view kDirectoryEntry = "PK\x01\x02";
constexpr std::string_view kEnd = "PK\x05\x06";
constexpr std::string_view kEnd64 = "PK\x06\x06";
constexpr std::string_view kEnd64Locator = "PK\x06\x07";
constexpr size_t kEndSize = 22, kEnd64LocatorSize = 20, kLongestComment = 0xFFFF;
constexpr uint64_t kSeeExtra16 = 0xFFFF, kSeeExtra32 = 0xFFFFFFFF;
constexpr uint64_t kExtra64 = 0x0001;
constexpr uint64_t kStored = 0, kDeflated = 8;
constexpr uint64_t kEncrypted = 1 << 0 | 1 << 6 | 1 << 13;
constexpr uint64_t kUnix = 3;

// Deflate makes 1032 bytes of one at best.
constexpr uint64_t kMostOfOneByte = 1032;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Position of the end record. A comment may follow it; where that holds what could be another end record, two
// readers could see two archives in one file.
size_t find_end(std::string_view bytes, const std::string& where) {
  constexpr size_t kCommentLength = kEndSize - 2;
  std::optional<size_t> found;
  const size_t first = bytes.size() - std::min(bytes.size(), kEndSize + kLongestComment);
  for (size_t at = bytes.find(kEnd, first); at != bytes.npos; at = bytes.find(kEnd, at + 1)) {
    if (bytes.size() - at < kEndSize) break;
    const uint64_t comment = ByteCursor(bytes.substr(at + kCommentLength), where).number(2);
    if (at + kEndSize + comment != bytes.size()) continue;
    require(!found, where, ": two ends of a zip archive, one inside the comment of the other");
    found = at;
  }
  require(found.has_value(), where,
          ": a zip archive without its end: the file is truncated; download it again");
  return *found;
}

struct Directory {
  uint64_t entries = 0, size = 0, offset = 0;
};

// Of the 64-bit records before the end record at `end`; none where there are none.
std::optional<Directory> read_directory64(std::string_view bytes, size_t end, const std::string& where) {
  if (end < kEnd64LocatorSize || bytes.substr(end - kEnd64LocatorSize, 4) != kEnd64Locator)
    return std::nullopt;
  ByteCursor locator(bytes.substr(end - kEnd64LocatorSize + 4), where);
  locator.skip(4);  // disk
  const uint64_t at = locator.number(8);
  require(at <= end - kEnd64LocatorSize && bytes.substr(at, 4) == kEnd64, where,
          ": no 64-bit end record at position ", at);
  ByteCursor record(bytes.substr(at + 4), where);
  record.skip(8 + 2 + 2 + 4 + 4 + 8);  // size, versions, disks, entries on this one
  Directory directory;
  directory.entries = record.number(8);
  directory.size = record.number(8);
  directory.offset = record.number(8);
  return directory;
}

// The numbers that did not fit the directory's entry stand in its extra field, in this order.
void read_extra(std::string_view extra, std::span<uint64_t* const> numbers, const std::string& where) {
  ByteCursor fields(extra, where);
  while (fields.left() >= 4) {
    const uint64_t id = fields.number(2);
    const uint64_t size = fields.number(2);
    ByteCursor field(fields.take(size), where);
    if (id != kExtra64) continue;
    for (uint64_t* number : numbers)
      if (*number == kSeeExtra32) *number = field.number(8);
    return;
  }
}

// Inflates into exactly `size` bytes.
std::shared_ptr<std::vector<std::byte>> inflate_all(std::span<const std::byte> packed, uint64_t size,
                                                    const std::string& where) {
  std::shared_ptr<std::vector<std::byte>> result;
  try {
    result = std::make_shared<std::vector<std::byte>>(size);
  } catch (const std::bad_alloc&) {
    fail(where, ": its ", size, " bytes do not fit into memory");
  }
  z_stream stream{};
  require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, where, ": zlib does not start");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);

  // zlib counts in 32 bits.
  constexpr size_t kPiece = 1 << 30;
  std::byte spare{};  // takes what comes after the size that was promised
  size_t written = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const auto in = static_cast<uInt>(std::min(packed.size(), kPiece));
    const auto out = static_cast<uInt>(std::min<size_t>(size - written, kPiece));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(out > 0 ? result->data() + written : &spare);
    stream.avail_out = out > 0 ? out : 1;
    status = ::inflate(&stream, Z_NO_FLUSH);
    const size_t made = (out > 0 ? out : 1) - stream.avail_out;
    require(out > 0 || made == 0, where, ": unpacks to more than the ", size, " bytes it should have");
    packed = packed.subspan(in - stream.avail_in);
    written += made;
  }
  require(status == Z_STREAM_END && written == size && packed.empty(), where,
          ": its compressed data is damaged; download the file again");
  return result;
}

uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

bool ZipArchive::recognizes(std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes);
  return text.starts_with(kLocalHeader) || text.starts_with(kEnd);
}

ZipArchive::ZipArchive(std::span<const std::byte> bytes, std::string where, uint64_t may_unpack)
    : bytes_(bytes), where_(std::move(where)), may_unpack_(may_unpack) {
  read_directory();
  check_overlaps();
}

void ZipArchive::read_directory() {
  const std::string_view bytes = as_text(bytes_);
  const size_t end = find_end(bytes, where_);
  ByteCursor record(bytes.substr(end + 4), where_);
  const uint64_t disk = record.number(2), first_disk = record.number(2);
  record.skip(2);  // entries on this disk
  Directory directory;
  directory.entries = record.number(2);
  directory.size = record.number(4);
  directory.offset = record.number(4);
  if (const auto large = read_directory64(bytes, end, where_)) {
    const auto agree = [](uint64_t small, uint64_t saturated, uint64_t number) {
      return small == saturated || small == number;
    };
    require(agree(directory.entries, kSeeExtra16, large->entries) &&
                agree(directory.size, kSeeExtra32, large->size) &&
                agree(directory.offset, kSeeExtra32, large->offset),
            where_, ": the two end records of the zip archive contradict each other");
    directory = *large;
  } else {
    require(disk == 0 && first_disk == 0, where_, ": one part of a zip archive of several files");
  }

  require(directory.offset <= end && directory.size <= end - directory.offset, where_,
          ": the zip directory of ", directory.size, " bytes at position ", directory.offset,
          " is not inside the file");
  ByteCursor cursor(bytes.substr(directory.offset, directory.size), where_ + ": zip directory");
  while (cursor.left() > 0) read_entry(cursor);
  require(entries_.size() == directory.entries, where_, ": the zip directory has ", entries_.size(),
          " entries and says it has ", directory.entries);
}

void ZipArchive::read_entry(ByteCursor& directory) {
  require(directory.take(4) == kDirectoryEntry, directory.where(), ": damaged at position ",
          directory.position() - 4);
  directory.skip(1);
  const uint64_t made_by = directory.number(1);
  directory.skip(2);  // version needed
  const uint64_t flags = directory.number(2), method = directory.number(2);
  directory.skip(4);  // time
  ZipEntry entry;
  entry.crc = static_cast<uint32_t>(directory.number(4));
  uint64_t packed = directory.number(4);
  entry.size = directory.number(4);
  const uint64_t name_size = directory.number(2), extra_size = directory.number(2),
                 comment_size = directory.number(2);
  directory.skip(2 + 2);  // disk, internal attributes
  const uint64_t mode = directory.number(4) >> 16;
  uint64_t offset = directory.number(4);
  entry.name = directory.take(name_size);
  const std::string where = where_ + ": " + in_quotes(entry.name);
  uint64_t* const numbers[] = {&entry.size, &packed, &offset};
  read_extra(directory.take(extra_size), numbers, where);
  directory.skip(comment_size);

  require((flags & kEncrypted) == 0, where, ": is encrypted; unpack it and try again");
  require(method == kStored || method == kDeflated, where, ": packed by method ", method,
          ", expected stored (0) or deflated (8); unpack it and try again");
  entry.deflated = method == kDeflated;
  entry.is_link = made_by == kUnix && S_ISLNK(mode);
  require(entry.deflated ? entry.size / kMostOfOneByte <= packed : entry.size == packed, where, ": ", packed,
          " bytes of the file cannot be the ", entry.size, " bytes it says it has");

  // Where the contents begin is known from the local header alone: its extra field has a length of its own.
  const std::string_view bytes = as_text(bytes_);
  require(offset <= bytes.size(), where, ": begins at ", offset, ", beyond the end of the file");
  ByteCursor local(bytes.substr(offset), where);
  require(local.take(4) == kLocalHeader, where, ": has no local header at position ", offset);
  local.skip(2 + 2);
  require(local.number(2) == method, where, ": its two headers contradict each other");
  local.skip(4 + 4 + 4 + 4);  // time, CRC and sizes, which may follow the data instead
  const uint64_t local_name = local.number(2), local_extra = local.number(2);
  require(local.take(local_name) == entry.name, where, ": its local header has another name");
  local.skip(local_extra);
  const uint64_t begin = offset + local.position();
  require(packed <= bytes.size() - begin, where, ": its ", packed,
          " bytes reach beyond the end of the file; is it truncated?");
  entry.stored = bytes_.subspan(begin, packed);

  require(index_.emplace(entry.name, entries_.size()).second, where, ": is there twice");
  entries_.push_back(std::move(entry));
}

// Entries that share bytes are how a small archive unpacks to a huge one.
void ZipArchive::check_overlaps() const {
  std::vector<const ZipEntry*> order;
  for (const ZipEntry& entry : entries_)
    if (!entry.stored.empty()) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](const ZipEntry* a, const ZipEntry* b) { return a->stored.data() < b->stored.data(); });
  for (size_t i = 1; i < order.size(); ++i)
    require(order[i - 1]->stored.data() + order[i - 1]->stored.size() <= order[i]->stored.data(), where_,
            ": ", in_quotes(order[i - 1]->name), " and ", in_quotes(order[i]->name), " overlap");
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

ZipContents ZipArchive::read(const ZipEntry& entry, uint64_t most) {
  const std::string where = where_ + ": " + in_quotes(entry.name);
  require(!entry.is_link, where, ": is a symbolic link, expected a file");
  require(entry.size <= most, where, ": has ", entry.size, " bytes, the maximum is ", most);
  ZipContents contents{entry.stored, nullptr};
  if (entry.deflated) {
    require(entry.size <= may_unpack_, where, ": unpacks to ", entry.size,
            " bytes, more than a file of weights does; unpack it and try again");
    may_unpack_ -= entry.size;
    const auto unpacked = inflate_all(entry.stored, entry.size, where);
    contents = {*unpacked, unpacked};
  }
  require(crc_of(contents.bytes) == entry.crc, where,
          ": its checksum does not match: the file is damaged; download it again");
  return contents;
}

}  // namespace mega
