#include "mega/data/formats/tar_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/strings.h"

namespace mega::data {
namespace {

constexpr int64_t kBlock = 512;
using Block = std::array<char, kBlock>;

// Fields of a header: where they begin, and how long they are.
struct Field {
  size_t at, size;
};
constexpr Field kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kMagic{257, 5}, kPrefix{345, 155};
constexpr size_t kType = 156;

std::string_view bytes_of(const Block& block, Field field) { return {block.data() + field.at, field.size}; }

std::string_view text_of(const Block& block, Field field) {
  const std::string_view bytes = bytes_of(block, field);
  return bytes.substr(0, bytes.find('\0'));
}

// An octal number, or, as GNU writes what does not fit, bytes with the most significant first. None where
// it is neither, or beyond any file.
std::optional<int64_t> number_of(const Block& block, Field field) {
  std::string_view digits = bytes_of(block, field);
  constexpr int64_t kMost = int64_t{1} << 56;
  int64_t value = 0;
  if (static_cast<unsigned char>(digits[0]) == 0x80) {
    for (const char byte : digits.substr(1)) {
      if (value >= kMost / 256) return std::nullopt;
      value = value * 256 + static_cast<unsigned char>(byte);
    }
    return value;
  }
  while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
  digits = digits.substr(0, digits.find_first_of(std::string_view(" \0", 2)));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0 || value >= kMost)
    return std::nullopt;
  return value;
}

// The sum of all bytes, with the checksum's own as blanks.
bool has_valid_checksum(const Block& block) {
  int64_t sum = 0;
  for (size_t i = 0; i < block.size(); ++i)
    sum += i - kChecksum.at < kChecksum.size ? ' ' : static_cast<unsigned char>(block[i]);
  return number_of(block, kChecksum) == sum;
}

bool is_zero(const Block& block) {
  return std::all_of(block.begin(), block.end(), [](char byte) { return byte == 0; });
}

// What headers before a file say of it.
struct Overrides {
  std::string name;
  std::optional<int64_t> size;
};

// Records "LENGTH KEY=VALUE\n" of a pax header. False where they are damaged.
bool read_pax(std::string_view records, Overrides& overrides) {
  while (!records.empty()) {
    size_t length = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<size_t>(end - records.data());
    if (error != std::errc() || length <= digits + 1 || length > records.size() || *end != ' ' ||
        records[length - 1] != '\n')
      return false;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    records.remove_prefix(length);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") overrides.name = value;
    if (key == "size") {
      int64_t size = -1;
      const auto [stop, bad] = std::from_chars(value.data(), value.data() + value.size(), size);
      if (bad != std::errc() || stop != value.data() + value.size() || size < 0) return false;
      overrides.size = size;
    }
    if (key.starts_with("GNU.sparse")) return false;
  }
  return true;
}

std::string name_of(const Block& block) {
  const std::string name(text_of(block, kName));
  const std::string prefix(text_of(block, kPrefix));
  return bytes_of(block, kMagic) == "ustar" && block[kMagic.at + 5] == '\0' && !prefix.empty()
             ? prefix + "/" + name
             : name;
}

}  // namespace

TarFile::TarFile(const std::filesystem::path& path) : name_(path.string()) {
  require_regular(path);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(descriptor_ >= 0, name_, ": cannot be opened: ", std::strerror(errno));
  struct stat status {};
  require(::fstat(descriptor_, &status) == 0, name_, ": ", std::strerror(errno));
  size_ = status.st_size;
}

TarFile::~TarFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TarFile::read(int64_t offset, std::span<char> into, const std::string& where) const {
  while (!into.empty()) {
    const ssize_t count = ::pread(descriptor_, into.data(), into.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    require(count >= 0, where, ": cannot be read: ", std::strerror(errno));
    require(count > 0, where, ": the archive ends too early");
    into = into.subspan(static_cast<size_t>(count));
    offset += count;
  }
}

std::vector<TarMember> TarFile::members() const { return members(0, size_, name_); }

std::vector<TarMember> TarFile::members(const TarMember& archive) const {
  return members(archive.offset, archive.offset + archive.size, name_ + "/" + archive.name);
}

std::vector<TarMember> TarFile::members(int64_t begin, int64_t end, const std::string& where) const {
  constexpr int64_t kLongestHeader = 1 << 20;  // of names and the like
  std::vector<TarMember> found;
  Overrides overrides;
  Block block;
  for (int64_t at = begin; end - at >= kBlock;) {
    read(at, block, where);
    if (is_zero(block)) break;
    require(has_valid_checksum(block), where, ": not a tar archive, or damaged at byte ", at - begin,
            at == begin ? "; a compressed one is to be unpacked to a plain .tar first" : "");
    const auto written = number_of(block, kSize);
    require(written.has_value(), where, ": a damaged size at byte ", at - begin);
    at += kBlock;
    const char type = block[kType];
    const bool file = type == '0' || type == '\0' || type == '7';
    const int64_t size = file ? overrides.size.value_or(*written) : *written;
    require(size <= end - at, where, ": the archive ends inside ",
            in_quotes(overrides.name.empty() ? name_of(block) : overrides.name));
    if (type == 'L' || type == 'x') {
      require(size <= kLongestHeader, where, ": a header of ", size, " bytes at byte ", at - begin);
      std::string content(static_cast<size_t>(size), '\0');
      read(at, content, where);
      if (type == 'L')
        overrides.name = content.c_str();
      else
        require(read_pax(content, overrides), where, ": a damaged or sparse pax header at byte ", at - begin);
    } else {
      require(type != 'S', where, ": a sparse file at byte ", at - begin, "; such files are not read");
      if (file) {
        found.push_back({overrides.name.empty() ? name_of(block) : std::move(overrides.name), at, size});
        // Folders in names that end in a slash are of the oldest form.
        if (found.back().name.ends_with('/')) found.pop_back();
      }
      if (type != 'g' && type != 'K') overrides = {};
    }
    at += (size + kBlock - 1) / kBlock * kBlock;
  }
  return found;
}

std::string TarFile::read(const TarMember& member, size_t most) const {
  const std::string where = name_ + "/" + member.name;
  require(static_cast<size_t>(member.size) <= most, where, ": a file of ", member.size,
          " bytes, more than the ", most, " that are read");
  std::string content(static_cast<size_t>(member.size), '\0');
  read(member.offset, content, where);
  return content;
}

}  // namespace mega::data
