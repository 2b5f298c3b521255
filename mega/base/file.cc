#include "mega/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "mega/base/error.h"

namespace mega {
namespace {

[[noreturn]] void fail_with_errno(const std::filesystem::path& path, const char* what) {
  const int code = errno;
  fail(path.string(), ": ", what, ": ", std::strerror(code));
}

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

int open_for_reading(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_with_errno(path, "cannot open");
  return descriptor;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const Descriptor file(open_for_reading(path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_with_errno(path, "cannot read its size");
  if (S_ISDIR(status.st_mode)) fail(path.string(), ": is a folder, expected a file");

  // Read to the end instead of the reported size: pipes and /proc files report none.
  std::string content;
  if (status.st_size > 0) content.reserve(static_cast<size_t>(status.st_size) + 1);
  constexpr size_t kStep = size_t{1} << 16;
  while (true) {
    const size_t old_size = content.size();
    const bool full = content.capacity() == old_size;
    content.resize(full ? old_size + std::max(old_size, kStep) : content.capacity());
    const ssize_t count = ::read(file.get(), content.data() + old_size, content.size() - old_size);
    if (count < 0 && errno != EINTR) fail_with_errno(path, "cannot read");
    content.resize(old_size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return content;
  }
}

void sync_folder(const std::filesystem::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0) fail_with_errno(folder, "cannot open the folder");
  // Some file systems cannot sync a folder and return EINVAL: ignore it.
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) fail_with_errno(folder, "cannot sync the folder");
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  if (!path_.has_filename() || std::filesystem::is_directory(path_))
    fail(path_.string(), ": is a folder, expected the name of a file to write");
  // O_EXCL: concurrent writers and leftovers of a crash never share a temporary file.
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    aside_ = folder_of(path_) / ("." + path_.filename().string() + "." + std::to_string(::getpid()) + "." +
                                 std::to_string(attempt) + ".tmp");
    descriptor_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) return;
    if (errno != EEXIST) break;
  }
  fail_with_errno(path_, "cannot create a temporary file next to it");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(aside_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  require(descriptor_ >= 0, path_.string(), ": written to after it was committed");
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with_errno(path_, "cannot write");
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  require(descriptor_ >= 0, path_.string(), ": committed twice");
  if (::fsync(descriptor_) != 0) fail_with_errno(path_, "cannot sync");
  if (::rename(aside_.c_str(), path_.c_str()) != 0) fail_with_errno(path_, "cannot rename to its final name");
  ::close(std::exchange(descriptor_, -1));
  sync_folder(folder_of(path_));
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file(open_for_reading(path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_with_errno(path, "cannot read its size");
  if (!S_ISREG(status.st_mode)) fail(path.string(), ": is not a regular file, so it cannot be memory-mapped");
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return;  // mmap refuses an empty mapping
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) fail_with_errno(path, "cannot memory-map");
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace mega
