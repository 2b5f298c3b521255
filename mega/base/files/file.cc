#include "mega/base/files/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>
#include <utility>

#include "mega/base/error.h"

namespace mega {
namespace {

constexpr std::string_view kTemporary = ".tmp";

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

int open_for_reading(const std::filesystem::path& path, int flags = 0) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) fail_with_errno(path, "cannot open");
  return descriptor;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  return folder.empty() ? "." : folder;
}

// The end of a chain of symbolic links, which need not exist.
std::filesystem::path behind_links(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::filesystem::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(target, error))) return target;
    target = folder_of(target) / std::filesystem::read_symlink(target, error);
    if (error) fail(path.string(), ": cannot follow the symbolic link: ", error.message());
  }
  fail(path.string(), ": symbolic links that lead to each other");
}

const char* kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe (FIFO)";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISBLK(mode) || S_ISCHR(mode)) return "a device";
  return "no regular file";
}

// All of the text as a number; -1 if it is something else.
int64_t number_of(std::string_view text) {
  int64_t number = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size() ? number : -1;
}

// The descriptor of this process that a path stands for, or -1. Opened by its name, a file behind it would be
// written from its beginning again.
int own_descriptor(const std::filesystem::path& path) {
  const std::string& name = path.native();
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"})
    if (name.starts_with(folder))
      return static_cast<int>(number_of(std::string_view(name).substr(folder.size())));
  return -1;
}

// The process of a temporary_name, ".NAME.PROCESS.NUMBER.tmp"; -1 if it is no such name. An empty name stands
// for any.
int64_t process_of(std::string_view file, const std::string& name) {
  if (!file.starts_with('.') || !file.ends_with(kTemporary)) return -1;
  file = file.substr(1, file.size() - 1 - kTemporary.size());
  const size_t attempt = file.rfind('.');
  if (attempt == std::string_view::npos || number_of(file.substr(attempt + 1)) < 0) return -1;
  file = file.substr(0, attempt);
  const size_t process = file.rfind('.');
  if (process == std::string_view::npos || process == 0) return -1;
  if (!name.empty() && file.substr(0, process) != name) return -1;
  const int64_t number = number_of(file.substr(process + 1));
  return number <= std::numeric_limits<pid_t>::max() ? number : -1;
}

// A process may be gone here and alive in another container: its lock says so.
void remove_if_abandoned(const std::filesystem::path& path, int64_t process) {
  if (::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH) return;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
}

// Whether the process has not looked for what was left of this file yet.
bool first_write_of(const std::filesystem::path& path) {
  static std::mutex mutex;
  static std::set<std::filesystem::path> written;
  const std::lock_guard lock(mutex);
  return written.insert(path).second;
}

}  // namespace

std::string temporary_name(const std::string& name, int number) {
  return "." + name + "." + std::to_string(::getpid()) + "." + std::to_string(number) +
         std::string(kTemporary);
}

void remove_leftovers(const std::filesystem::path& folder, const std::string& name) {
  std::error_code ignored;  // tidying up must not stop anybody
  for (std::filesystem::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const int64_t process = process_of(entry->path().filename().native(), name);
    if (process > 0) remove_if_abandoned(entry->path(), process);
  }
}

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

void require_regular(const std::filesystem::path& path) {
  struct stat status {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  if (there && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
    fail(path.string(), ": is ", kind_of(status.st_mode), ", expected a file");
}

void sync_folder(const std::filesystem::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0) fail_with_errno(folder, "cannot open the folder");
  // Some file systems cannot sync a folder and return EINVAL: ignore it.
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) fail_with_errno(folder, "cannot sync the folder");
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code none;
  if (!path_.has_filename() || std::filesystem::is_directory(path_, none))
    fail(path_.string(), ": is a folder, expected the name of a file to write");
  if (const int own = own_descriptor(path_); own >= 0) {
    descriptor_ = ::fcntl(own, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) fail_with_errno(path_, "cannot write");
    return;
  }
  target_ = behind_links(path_);
  struct stat old {};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  if (replaces && S_ISCHR(old.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) fail_with_errno(path_, "cannot open");
    return;
  }
  if (replaces && !S_ISREG(old.st_mode))
    fail(path_.string(), ": is ", kind_of(old.st_mode), " and stays as it is; give the name of a file");
  open_aside();
  if (replaces && ::fchmod(descriptor_, old.st_mode & 0777) != 0 && errno != EPERM) {
    const int code = errno;
    ::close(std::exchange(descriptor_, -1));
    ::unlink(aside_.c_str());
    fail(path_.string(), ": cannot set its permissions: ", std::strerror(code));
  }
}

void AtomicFile::open_aside() {
  const std::filesystem::path folder = folder_of(target_);
  const std::string name = target_.filename().string();
  if (first_write_of(target_)) remove_leftovers(folder, name);
  // O_EXCL: concurrent writers and leftovers of a crash never share a temporary file.
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    aside_ = folder / temporary_name(name, attempt);
    descriptor_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) {
      ::flock(descriptor_, LOCK_EX | LOCK_NB);  // see remove_if_abandoned; not every file system has locks
      return;
    }
    if (errno != EEXIST) break;
  }
  fail_with_errno(path_, "cannot create a temporary file next to it");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!aside_.empty()) ::unlink(aside_.c_str());
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
  if (aside_.empty()) {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_with_errno(path_, "cannot write");
    return;
  }
  if (::fsync(descriptor_) != 0) fail_with_errno(path_, "cannot sync");
  if (::rename(aside_.c_str(), target_.c_str()) != 0)
    fail_with_errno(path_, "cannot rename to its final name");
  ::close(std::exchange(descriptor_, -1));
  sync_folder(folder_of(target_));
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file(open_for_reading(path, O_NONBLOCK));  // a pipe is refused, not waited for
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
